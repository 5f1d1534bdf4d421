import { formatSpec } from '../../device/tensor-meta.ts';
import { formatShape } from '../../spec/shape.ts';
import { Tensor } from '../../tensor/tensor.ts';
import { isModule } from './is-module.ts';
import type { Module } from './module.ts';

/**
 * Prints a module and its submodules, one per line, as PyTorch does: tensors with dtype and shape, settings by name.
 *
 *     Sequential(
 *       (0): Linear(weight: f32[4,2], bias: f32[4])
 *       (1): Dropout(p=0.5)
 *     )
 */
export function moduleText(module: Module, above: ReadonlySet<Module> = new Set()): string {
  const name = module.constructor.name;
  if (above.has(module)) return `${name}(…)`;
  const path = new Set([...above, module]);
  const settings: string[] = [];
  const children: string[] = [];
  for (const [key, value] of Object.entries(module)) {
    if (!internal.has(key)) settings.push(...settingsOf(key, value));
  }
  for (const [key, value] of module.ownEntries()) {
    if (!isModule(value)) continue;
    const text = moduleText(value, path).replaceAll('\n', '\n  ');
    children.push(`  (${module.stateName(key)}): ${text}`);
  }
  const settingsText = settings.join(', ');
  if (children.length === 0) return `${name}(${settingsText})`;
  return [`${name}(${settingsText}`, ...children, ')'].join('\n');
}

/** Fields that follow from others, and the mode. */
const internal: ReadonlySet<string> = new Set(['training', 'borders', 'ranks', 'stateSize']);

function settingsOf(key: string, value: unknown): string[] {
  if (value instanceof Tensor) return [`${key}: ${formatSpec(value)}`];
  if (['number', 'string', 'boolean'].includes(typeof value)) return [`${key}=${value}`];
  if (Array.isArray(value)) {
    const numbers = value.length > 0 && value.every((each) => typeof each === 'number');
    if (numbers) return [`${key}=${formatShape(value)}`];
    return value.flatMap((each, i) => settingsOf(`${key}.${i}`, each));
  }
  const plain = value && Object.getPrototypeOf(value) === Object.prototype;
  return plain ? Object.entries(value).flatMap(([name, inner]) => settingsOf(name, inner)) : [];
}

import { noGrad } from '../autograd/grad-mode.ts';
import type { Device } from '../device/device.ts';
import { keep } from '../tensor/lifetime.ts';
import { Tensor } from '../tensor/tensor.ts';
import { type Parameter, parameter } from './parameter.ts';

/**
 * Part of a model: `forward` and the tensors and modules that it uses, which are found by walking the
 * own properties (also in arrays). `forward` is ordinary JavaScript: compiling inlines it by its source.
 */
export abstract class Module {
  /** For layers that act differently while training. */
  training = true;

  abstract forward(...inputs: never[]): unknown;

  /** Direct submodules. */
  *children(): Generator<Module> {
    for (const [, value] of ownEntries(this)) if (value instanceof Module) yield value;
  }

  /** This module and all below it, each once. */
  *modules(seen = new Set<Module>()): Generator<Module> {
    if (seen.has(this)) return;
    seen.add(this);
    yield this;
    for (const child of this.children()) yield* child.modules(seen);
  }

  /** Leaves that require a gradient, each once, with their paths: `layers.0.weight`. */
  *namedParameters(): Generator<[name: string, parameter: Parameter]> {
    for (const [name, tensor] of namedTensors(this)) {
      if (tensor.requiresGrad && tensor.isLeaf) yield [name, tensor];
    }
  }

  parameters(): Parameter[] {
    return Array.from(this.namedParameters(), ([, tensor]) => tensor);
  }

  /** Sets `training` here and in all modules below. */
  train(mode = true): this {
    for (const module of this.modules()) module.training = mode;
    return this;
  }

  eval(): this {
    return this.train(false);
  }

  /** Gives the gradients back; the next backward starts from none. */
  zeroGrad(): void {
    for (const tensor of this.parameters()) dropGrad(tensor);
  }

  /**
   * Moves every tensor to the device. The properties hold new tensors afterwards: make the optimizer
   * after the move. Gradients are given back.
   */
  to(device: Device | string): this {
    const moved = new Map<Tensor, Tensor>();
    for (const module of this.modules()) {
      replaceTensors(module, (tensor) => {
        const result = moved.get(tensor) ?? movedTo(tensor, device);
        moved.set(tensor, result);
        return result;
      });
    }
    for (const [old, current] of moved) if (old !== current) release(old);
    return this;
  }

  /** Gives back the memory of every tensor below, with its gradient. */
  dispose(): void {
    for (const [, tensor] of namedTensors(this)) release(tensor);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** Own tensors and modules by path; those in arrays by index. */
function* ownEntries(module: Module): Generator<[path: string, value: unknown]> {
  for (const [key, value] of Object.entries(module)) {
    if (!Array.isArray(value)) yield [key, value];
    else for (const [i, item] of value.entries()) yield [`${key}.${i}`, item];
  }
}

function* namedTensors(
  module: Module,
  prefix = '',
  seen = new Set<object>(),
): Generator<[name: string, tensor: Tensor]> {
  seen.add(module);
  for (const [path, value] of ownEntries(module)) {
    if (value instanceof Tensor && !seen.has(value)) {
      seen.add(value);
      yield [prefix + path, value];
    } else if (value instanceof Module && !seen.has(value)) {
      yield* namedTensors(value, `${prefix + path}.`, seen);
    }
  }
}

function replaceTensors(module: Module, replace: (tensor: Tensor) => Tensor): void {
  for (const [key, value] of Object.entries(module)) {
    if (value instanceof Tensor) Object.assign(module, { [key]: replace(value) });
    if (!Array.isArray(value)) continue;
    for (const [i, item] of value.entries()) if (item instanceof Tensor) value[i] = replace(item);
  }
}

function movedTo(tensor: Tensor, device: Device | string): Tensor {
  const result = noGrad(() => tensor.to(device));
  if (result === tensor) return tensor;
  return tensor.requiresGrad ? parameter(result) : keep(result);
}

function dropGrad(tensor: Tensor): void {
  tensor.grad?.dispose();
  tensor.grad = null;
}

function release(tensor: Tensor): void {
  dropGrad(tensor);
  tensor.dispose();
}

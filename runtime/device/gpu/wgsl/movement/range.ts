import type { Attrs } from '../../../kernel-op.ts';
import type { TensorMeta } from '../../../tensor-meta.ts';
import { input, output } from '../../core/kernel-plan.ts';
import { along, elementStage } from '../element-stage.ts';
import { splitText } from '../index-text.ts';
import { strideless } from '../indexing/choose.ts';
import type { WgslPlan } from '../wgsl-plan.ts';

/** () → `start`, `start` + `step`, … */
export function arangePlan(
  _inputs: readonly TensorMeta[],
  [out]: readonly TensorMeta[],
  attrs: Attrs,
): WgslPlan {
  const stage = elementStage(out!.shape, [along(output(0), out!, true)], ({ w, at }) => {
    const [start, step] = (['start', 'step'] as const).map((name) =>
      w.uniform(name, { kind: 'number', value: attrs[name] as number }),
    );
    const value = `${start} + f32(e) * ${step}`;
    w.line(`${at(0)} = ${out!.dtype === 'int32' ? `trunc(${value})` : value};`);
  });
  return { scratch: [], stages: [stage] };
}

/** (dy, x: shape) → each element of x, for every place in a window, adds up the window that has it there. */
export function unfoldGradPlan(
  [dy]: readonly TensorMeta[],
  [dx]: readonly TensorMeta[],
  attrs: Attrs,
): WgslPlan {
  const dim = attrs.dim as number;
  const count = (name: string) => attrs[name] as number;
  const operands = [
    { slot: input(0), strides: strideless(dy!.strides.slice(0, -1), dim) },
    along(output(0), dx!, true),
  ];
  const inner = dx!.strides[dim]!;
  const stage = elementStage(dx!.shape, operands, ({ w, at }) => {
    const [lines] = splitText(w, 'e', w.count('inner', inner));
    const [, own] = splitText(w, lines, w.count('entries', dx!.shape[dim]!));
    const [step, dilation] = [
      w.count('step', count('step')),
      w.count('dilation', count('dilation')),
    ];
    w.line(
      'var sum = 0.0f;',
      `for (var k = 0u; k < ${w.count('size', dy!.shape.at(-1)!)}; k = k + 1u) {`,
      `let reach = k * ${dilation};`,
      `if (${own} < reach || (${own} - reach) % ${step} != 0u) { continue; }`,
      `let window = (${own} - reach) / ${step};`,
      `if (window >= ${w.count('windows', dy!.shape[dim]!)}) { continue; }`,
    );
    const further = `window * ${w.count('along', dy!.strides[dim]!)} + k * ${w.count('in', dy!.strides.at(-1)!)}`;
    w.line(`sum = sum + ${at(0, further)};`, '}', `${at(1)} = sum;`);
  });
  return { scratch: [], stages: [stage] };
}

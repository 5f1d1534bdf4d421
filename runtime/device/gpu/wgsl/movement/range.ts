import { dtypes } from '../../../../spec/dtype.ts';
import { input, output } from '../../core/kernel-plan.ts';
import { along, elementStage } from '../element-stage.ts';
import { elementTypeOf, valueTypeOf, zeroText } from '../elements/element-type.ts';
import { splitText } from '../index-text.ts';
import { strideless } from '../indexing/choose.ts';
import type { KernelPlanner } from '../wgsl-plan.ts';

/** () → `start`, `start` + `step`, …; null for integers from fractions that float32 can't represent exactly. */
export const arangePlan: KernelPlanner = (_inputs, [out], attrs) => {
  const [start, step] = [attrs.start as number, attrs.step as number];
  const isFloat = dtypes[out!.dtype].floating;
  const isWhole = Number.isSafeInteger(start) && Number.isSafeInteger(step);
  const cut = !isFloat && !isWhole;
  if (cut && !hasExactFloats(start, step, attrs.count as number)) return null;
  const stage = elementStage(out!.shape, [along(output(0), out!, true)], ({ w, store }) => {
    const number = (name: string, value: number) =>
      w.uniform(
        name,
        isFloat || cut ? { kind: 'number', value } : { kind: 'int', value: value | 0 },
      );
    const elementText = `${isFloat || cut ? 'f32' : 'i32'}(e)`;
    const value = `${number('start', start)} + ${elementText} * ${number('step', step)}`;
    w.line(store(0, cut ? `f_to_int(${value})` : value));
  });
  return { scratch: [], stages: [stage] };
};

/** Whether float32 represents the numbers exactly, with 8 of its 24 bits for fractions. */
function hasExactFloats(start: number, step: number, count: number): boolean {
  const areDyadic = [start, step].every((value) => Number.isInteger(value * 2 ** 8));
  return areDyadic && Math.abs(start) + Math.abs(step) * count < 2 ** 16;
}

/** (dy, x: shape) → each element of x, for every position in a window, adds the window that has it there. */
export const unfoldGradPlan: KernelPlanner = ([dy], [dx], attrs) => {
  const dim = attrs.dim as number;
  const count = (name: string) => attrs[name] as number;
  const type = elementTypeOf(dy!.dtype);
  const operands = [
    { slot: input(0), strides: strideless(dy!.strides.slice(0, -1), dim), type },
    along(output(0), dx!, true),
  ];
  const inner = dx!.strides[dim]!;
  const stage = elementStage(dx!.shape, operands, ({ w, at, store }) => {
    const [lines] = splitText(w, 'e', w.count('inner', inner));
    const [, own] = splitText(w, lines, w.count('entries', dx!.shape[dim]!));
    const [step, dilation] = [
      w.count('step', count('step')),
      w.count('dilation', count('dilation')),
    ];
    w.line(
      `var sum = ${zeroText(valueTypeOf(type))};`,
      `for (var k = 0u; k < ${w.count('size', dy!.shape.at(-1)!)}; k = k + 1u) {`,
      `let reach = k * ${dilation};`,
      `if (${own} < reach || (${own} - reach) % ${step} != 0u) { continue; }`,
      `let window = (${own} - reach) / ${step};`,
      `if (window >= ${w.count('windows', dy!.shape[dim]!)}) { continue; }`,
    );
    const further = `window * ${w.count('along', dy!.strides[dim]!)} + k * ${w.count('in', dy!.strides.at(-1)!)}`;
    w.line(`sum = sum + ${at(0, further)};`, '}', store(1, 'sum'));
  });
  return { scratch: [], stages: [stage] };
};

import { identity } from '../../../../ops/expr/expr-type.ts';
import { sizeOf } from '../../../../spec/shape.ts';
import type { Attrs } from '../../../kernel-op.ts';
import { contiguousMeta, type TensorMeta } from '../../../tensor-meta.ts';
import { scratch } from '../../core/kernel-plan.ts';
import { elementTypeOf, valueTypeOf } from '../elements/element-type.ts';
import { singleBody } from '../pointwise-bodies.ts';
import { pointwiseStage } from '../pointwise-kernel.ts';
import type { KernelPlanner, WgslPlan } from '../wgsl-plan.ts';
import { lineStage } from './line-stage.ts';
import { orderKeyText } from './sort-kernel.ts';

/** (x) → the index along `dim` of the largest or smallest element: the first of equal ones; NaN wins. */
export function extremeIndexPlan(isLargest: boolean) {
  return ([x]: readonly TensorMeta[], [out]: readonly TensorMeta[], attrs: Attrs): WgslPlan => {
    const type = elementTypeOf(x!.dtype);
    const isFloat = valueTypeOf(type) === 'f32';
    const smallest = isFloat ? 'select(~key, key, key == 0xffffffffu)' : '~key';
    const stage = lineStage([x!], out!, attrs.dim as number, true, ({ w, slices, at, ...text }) => {
      w.function(`key(x : ${valueTypeOf(type)}) -> u32`, () => {
        w.line(`let key = ${orderKeyText(type, 'x')};`);
        w.line(`return ${isLargest ? 'key' : smallest};`);
      });
      w.line(
        'var best = 0u;',
        'var place = start;',
        'for (var k = start; k < end; k = k + 1u) {',
        `let found = key(${at(0, 'k')});`,
        'if (found > best) { best = found; place = k; }',
        '}',
      );
      if (slices > 1) {
        text.share('keys', 'u32', 'best');
        text.share('places', 'u32', 'place');
        // Slices are in index order, so the first of equal elements wins.
        w.line(
          'workgroupBarrier();',
          `best = ${text.shared('keys', '0u')};`,
          `place = ${text.shared('places', '0u')};`,
          `for (var j = 1u; j < ${slices}u; j = j + 1u) {`,
          `if (${text.shared('keys', 'j')} > best) {`,
          `best = ${text.shared('keys', 'j')};`,
          `place = ${text.shared('places', 'j')};`,
          '}',
          '}',
        );
      }
      w.line(`if (s == 0u && exists) { ${text.store(1, '0u', 'i32(place)')} }`);
    });
    return { scratch: [], stages: [stage] };
  };
}

/** (x) → partial sums or products along `dim`, from its end if `reverse`: slices first, then across slices. */
export function scanPlan(sign: '+' | '*') {
  return ([x]: readonly TensorMeta[], [out]: readonly TensorMeta[], attrs: Attrs): WgslPlan => {
    const dim = attrs.dim as number;
    const type = valueTypeOf(elementTypeOf(out!.dtype));
    const unit = `${sign === '+' ? 0 : 1}${type === 'f32' ? '.0f' : 'i'}`;
    const stage = lineStage([x!], out!, dim, false, ({ w, slices, at, ...text }) => {
      const place = attrs.reverse ? 'u.size - 1u - k' : 'k';
      const loop = 'for (var k = start; k < end; k = k + 1u) {';
      w.line(`var x = ${unit};`);
      if (slices > 1) {
        w.line(loop, `x = x ${sign} ${at(0, place)};`, '}');
        text.share('parts', type, 'x');
        w.line(
          'workgroupBarrier();',
          `x = ${unit};`,
          `for (var j = 0u; j < s; j = j + 1u) { x = x ${sign} ${text.shared('parts', 'j')}; }`,
        );
      }
      w.line(loop, `x = x ${sign} ${at(0, place)};`, text.store(1, place, 'x'), '}');
    });
    return { scratch: [], stages: [stage] };
  };
}

/** (dy, x) → dx of cumprod: each line by one thread, from its end and then from its start, as on the CPU. */
export const cumprodGradPlan: KernelPlanner = ([dy, x], [out], attrs) => {
  const dim = attrs.dim as number;
  const write: Parameters<typeof lineStage>[4] = ({ w, at, store }) => {
    w.line(
      'var rest = 0.0f;',
      'for (var n = end; n > start; n = n - 1u) {',
      'let k = n - 1u;',
      `rest = rest + ${at(0, 'k')};`,
      store(2, 'k', 'rest'),
      `rest = rest * ${at(1, 'k')};`,
      '}',
      'var before = 1.0f;',
      'for (var k = start; k < end; k = k + 1u) {',
      store(2, 'k', `${at(2, 'k')} * before`),
      `before = before * ${at(1, 'k')};`,
      '}',
    );
  };
  if (out!.dtype === 'float32') {
    return { scratch: [], stages: [lineStage([dy!, x!], out!, dim, false, write, 1)] };
  }
  // Intermediate results are float32, as on the CPU.
  const wide = contiguousMeta({ dtype: 'float32', shape: out!.shape }, out!.device);
  const stage = lineStage([dy!, x!], wide, dim, false, write, 1);
  const operands = stage.operands.map((operand) =>
    operand.written ? { ...operand, slot: scratch(0) } : operand,
  );
  const body = singleBody(identity, [wide], out!);
  const rounded = pointwiseStage([{ ...body, inputs: [{ slot: scratch(0), meta: wide }] }]);
  return { scratch: [sizeOf(out!.shape)], stages: [{ ...stage, operands }, rounded] };
};

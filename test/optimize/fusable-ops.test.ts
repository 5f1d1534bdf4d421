/** Every op whose record makes it pointwise, or a reduction or scan of rows, fuses with the ops before and after it. */

import { expect, it } from 'vitest';
import { noGrad } from '../../runtime/autograd/grad-mode.ts';
import { deviceNamed } from '../../runtime/device/current.ts';
import type { Attrs, AttrValue } from '../../runtime/device/kernel-op.ts';
import { contiguousMeta, type TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { bind, withInterceptor } from '../../runtime/ops/core/bind.ts';
import { opNamed, opTable } from '../../runtime/ops/op-table.ts';
import type { AttrRule } from '../../runtime/ops/record/attr-rules.ts';
import type { OpRecord } from '../../runtime/ops/record/define-op.ts';
import { ProgramBuilder } from '../../runtime/program/builder.ts';
import type { Program } from '../../runtime/program/program.ts';
import { Subgraph } from '../../runtime/run-program/run-program.ts';
import { defaultCompileOptions } from '../../src/compile/compilation.ts';
import { type DType, type Tensor, tensor, tidy } from '../../src/index.ts';
import { compileSubgraph } from '../../src/pipeline.ts';
import { randomInts } from '../plan/random-program.ts';

const shape = [70, 40] as const;

/** Ops along a dimension that move elements, or look for them, instead of computing with those of a row. */
const moving =
  /^(cat|flip|roll|narrowGrad|unfoldGrad|index.*|gather.*|scatter.*|sort|topk|resample.*|addSum_)$/;

/** Whether the op has a scalar function, or works along dimensions. */
function isFusable({ name, kernel, attrs }: OpRecord): boolean {
  if (kernel.kind === 'pointwise') return true;
  const along = attrs && ('dim' in attrs || 'dims' in attrs);
  return kernel.kind === 'named' && Boolean(along) && !moving.test(name);
}

/** Attributes that work along the last dimension; numbers are alike. */
function attrsOf({ attrs = {} }: OpRecord): Attrs {
  const exampleOf = (rule: AttrRule): AttrValue | undefined => {
    if (typeof rule === 'object') return 'oneOf' in rule ? rule.oneOf[0]! : undefined;
    if (rule === 'dim') return 1;
    if (rule === 'dims') return [1];
    return rule === 'boolean' ? false : 1.5;
  };
  return Object.fromEntries(
    Object.entries(attrs).flatMap(([name, rule]) => {
      const value = exampleOf(rule);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** The dtypes of operands that the op takes, floating ones as given; null if it takes none of them. */
function dtypesOf(op: OpRecord, floating: DType): readonly DType[] | null {
  const all = (dtype: DType) => op.operands.map(() => dtype);
  const choices = [all(floating), [...all(floating).with(0, 'bool')], all('int32'), all('bool')];
  return choices.find((dtypes) => takes(op, dtypes)) ?? null;
}

function takes(op: OpRecord, dtypes: readonly DType[]): boolean {
  const metas = dtypes.map((dtype) => contiguousMeta({ dtype, shape }, deviceNamed('cpu')));
  try {
    op.infer(metas, attrsOf(op));
    return true;
  } catch {
    return false;
  }
}

/** Applies the op to results of other ops, and another op to each of its own. */
function surrounded(op: OpRecord, dtypes: readonly DType[]): Program {
  const builder = new ProgramBuilder(() => {
    throw new Error('no tensor from outside');
  });
  const next = (x: Tensor): Tensor =>
    bind(opNamed(x.dtype === 'bool' ? 'logicalNot' : 'neg'), [x])[0]!;
  return withInterceptor(builder, () =>
    noGrad(() => {
      const input = (dtype: DType) =>
        builder.input(contiguousMeta({ dtype, shape }, deviceNamed('cpu')));
      const operands = dtypes.map((dtype) => next(input(dtype)));
      const made = bind(op, operands, attrsOf(op));
      const results = op.inPlace ? [operands[0]!] : made;
      return builder.finish(results.map((each) => builder.valueOf(next(each))));
    }),
  );
}

function valuesFor({ dtype }: TensorMeta, seed: number): Tensor {
  const below = randomInts(seed);
  const numbers = Array.from({ length: 2800 }, () => (below(2001) - 1000) / 700);
  return tidy(() => tensor(numbers, { shape }).to(dtype));
}

/** Runs the program: its kernels, and the bytes of its results. */
function run(program: Program, without: readonly string[]) {
  const wanted = {
    needsGrad: program.inputs.map(() => false),
    differentiable: program.outputs.map(() => false),
  };
  const options = { ...defaultCompileOptions, without: new Set(without) };
  const { planned } = compileSubgraph(program, wanted, options as typeof defaultCompileOptions);
  const inputs = program.inputs.map((id, i) => valuesFor(program.values[id]!, i));
  const results = new Subgraph(planned).run(inputs);
  const bytes = results.map((each) => {
    const data = each.dataSync();
    return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('hex');
  });
  for (const each of [...inputs, ...results]) each.dispose();
  return { kernels: planned.forward.steps.length, bytes };
}

const fusable = [...opTable.values()].filter(isFusable);

it('are found by their records', () => {
  expect(fusable.length).toBeGreaterThan(190);
});

it.for(fusable.map((op, i) => [op.name, op, i] as const))(
  '%s is one kernel with its neighbours',
  ([, op, i]) => {
    // Kernels that are not pointwise widen halves, which takes memory beside the rows.
    const isHalf = op.kernel.kind === 'pointwise' && i % 3 === 0;
    const dtypes = dtypesOf(op, isHalf ? 'bfloat16' : 'float32');
    expect(dtypes, 'operands that it takes').not.toBeNull();
    const program = surrounded(op, dtypes!);
    const fused = run(program, []);
    expect(fused.bytes).toEqual(run(program, ['fusePointwise', 'fuseRows']).bytes);
    expect(fused.kernels).toBe(1);
  },
);

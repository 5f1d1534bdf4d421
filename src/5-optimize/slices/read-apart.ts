import { operandUse, opNamed } from '../../../runtime/ops/define-op.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { eliminateDeadCode } from '../dead-code.ts';
import { findRegion, type SlicePlan } from './region.ts';
import { writeSlices } from './write-slices.ts';

/** A product of matrices whose rows are read in equal parts, each by ops of its own. */
export interface ReadApart {
  readonly product: number;
  readonly plan: SlicePlan;
}

/**
 * Products that are made as a whole and read part by part, as the gates of all steps of a sequence are:
 * made part by part, each part is there only while somebody reads it.
 */
export function productsReadApart(program: Program): ReadApart[] {
  const readers = readersOf(program);
  return program.ops.flatMap((op, index) => {
    if (op.op.name !== 'matmul' || program.values[op.inputs[0]!]!.shape.length !== 2) return [];
    const chain = new Set([index]);
    let at = op;
    for (;;) {
      const next = readers.get(at.outputs[0]!) ?? [];
      const parts = partsRead(
        program,
        at.outputs[0]!,
        next.map((reader) => program.ops[reader]!),
      );
      if (parts !== null) {
        const [a] = op.inputs as [ValueId];
        return [
          {
            product: index,
            plan: { parts, seeds: new Map([[a, 0]]), from: new Set([a]), only: chain },
          },
        ];
      }
      const [only] = next;
      if (next.length !== 1 || !isStep(program.ops[only!]!)) return [];
      chain.add(only!);
      at = program.ops[only!]!;
    }
  });
}

/** Parts of the chain's ops, and nothing of the whole that they replace. Null where that can't be. */
export function slicedApart(program: Program, plan: SlicePlan): Program | null {
  const region = findRegion(program, plan);
  if (!region || region.ways.size !== plan.only?.size) return null;
  const sliced = writeSlices(program, region, plan.parts);
  return sliced && withoutWholes(sliced);
}

function isStep({ op, outputs }: ProgramOp): boolean {
  const { kind } = op.kernel;
  return outputs.length === 1 && !op.inPlace && (kind === 'pointwise' || op.name === 'reshape');
}

/** Into how many equal parts along dimension 0 the readers take a value apart; null: they don't. */
function partsRead({ values }: Program, id: ValueId, readers: readonly ProgramOp[]): number | null {
  const size = values[id]!.shape[0]!;
  const lengths = new Set<number>();
  for (const { op, attrs, inputs } of readers) {
    if (op.name !== 'narrow' || inputs[0] !== id || attrs.dim !== 0) return null;
    const [start, length] = [attrs.start as number, attrs.length as number];
    if (start % length !== 0) return null;
    lengths.add(length);
  }
  const [length] = lengths;
  if (lengths.size !== 1 || size % length! !== 0 || size / length! < 2) return null;
  return size / length!;
}

/** Per value, the ops that read its data. */
function readersOf({ ops, outputs }: Program): ReadonlyMap<ValueId, readonly number[]> {
  const readers = new Map<ValueId, number[]>();
  const add = (id: ValueId, index: number) => {
    const known = readers.get(id);
    if (known) known.push(index);
    else readers.set(id, [index]);
  };
  ops.forEach(({ op, inputs }, index) => {
    inputs.forEach((id, i) => {
      if (operandUse(op, i) === 'data') add(id, index);
    });
  });
  for (const id of outputs) add(id, -1);
  return readers;
}

/** A part of what was put together of parts is that part. */
function withoutWholes(program: Program): Program {
  const joined = new Map<ValueId, ProgramOp>();
  const ops = program.ops.map((op): ProgramOp => {
    if (op.op.name === 'cat') joined.set(op.outputs[0]!, op);
    const whole = op.op.name === 'narrow' ? joined.get(op.inputs[0]!) : undefined;
    const { dim, start, length } = op.attrs as Readonly<Record<string, number>>;
    const sizes = whole?.attrs.sizes as readonly number[] | undefined;
    if (!whole || whole.attrs.dim !== dim || sizes?.some((size) => size !== length)) return op;
    const part = whole.inputs[start! / length!]!;
    const { shape } = program.values[op.outputs[0]!]!;
    return { ...op, op: opNamed('reshape'), inputs: [part], attrs: { shape } };
  });
  const values = [...program.values];
  for (const [index, { outputs }] of ops.entries()) {
    // A view of memory of its own.
    if (ops[index] === program.ops[index]) continue;
    const [id] = outputs;
    values[id!] = { ...values[id!]!, offset: 0 };
  }
  return { ...program, values, ops: eliminateDeadCode(ops, program.outputs) };
}

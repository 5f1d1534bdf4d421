import type { TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { invariant } from '../../runtime/errors/invariant.ts';
import { condBackwardOp, whileOp } from '../../runtime/program/control-ops.ts';
import type { KeptAt, TakenPath } from '../../runtime/program/higher-order-gradients.ts';
import type { PlannedSubgraph, Step } from '../../runtime/program/plan.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { ListsOnPath, type OnPath } from './lists-on-path.ts';

/** The ops of one path through a program. */
interface InlinedPath {
  readonly program: Program;
  /** Maps each value of the surrounding program to its value in the straight program. Tapes have none. */
  readonly numbers: ReadonlyMap<ValueId, ValueId>;
  /** Where a run saved each value of the straight program. */
  readonly keptAt: readonly (readonly KeptAt[])[];
}

/**
 * In: a traced program, its plan, and the path that a run took. Out: the ops of this path as one straight program, in
 * the order in which eager execution performs them. A branch, loop or call off the path, through which no gradient
 * flows, is kept as an op. A region's result is the returned tensor itself, under any name, and a list element is the
 * tensor that was stored there.
 */
export function inlinePath(
  traced: Program,
  planned: PlannedSubgraph,
  path: TakenPath,
): InlinedPath {
  const inliner = new Inliner();
  const inputs = traced.inputs.map((id) => inliner.define(traced.values[id]!));
  const known = inliner.append(traced, planned, path, 0, inputs);
  const outputs = traced.outputs.map((id) => inliner.valueOf(known.get(id), traced.values[id]!));
  const { values, ops, keptAt } = inliner;
  const numbers = new Map<ValueId, ValueId>();
  for (const [id, value] of known) {
    if (typeof value === 'number' && !inliner.tapes.has(value)) numbers.set(id, value);
  }
  return { program: { values, inputs, ops, outputs }, numbers, keptAt };
}

type Known = Map<ValueId, OnPath>;

class Inliner {
  readonly values: TensorMeta[] = [];
  readonly ops: ProgramOp[] = [];
  readonly keptAt: KeptAt[][] = [];
  /** The values for tapes and marks of ops on the path. */
  readonly tapes = new Set<ValueId>();
  readonly #lists = new ListsOnPath((list, items) => {
    const copy = this.define(list);
    this.ops.push({ ...items, outputs: [copy] });
    return copy;
  });

  define(meta: TensorMeta): ValueId {
    this.keptAt.push([]);
    return (this.values.push(meta) - 1) as ValueId;
  }

  /** Returns a list as one value, for an op off the path. */
  valueOf(known: OnPath | undefined, meta: TensorMeta): ValueId {
    invariant(known !== undefined, 'only a backward reads a tape');
    return typeof known === 'number' ? known : this.#lists.valueOf(known, meta);
  }

  /** Appends the ops of one frame; returns the straight program's values for its values. */
  append(
    program: Program,
    plan: PlannedSubgraph,
    taken: TakenPath,
    frame: number,
    operands: readonly OnPath[],
  ): Known {
    const known: Known = new Map();
    program.inputs.forEach((id, i) => {
      known.set(id, operands[i]!);
    });
    const steps = new Map(plan.forward.steps.map((step) => [step.op.outputs.at(-1), step]));
    const read = new Set(program.ops.flatMap(({ inputs }) => inputs));
    // A call that was merged with later calls is performed at the position of the last of them, and ops that read its
    // results wait until then.
    let waiting: ProgramOp[] = [];
    for (const op of program.ops) {
      const step = op.call && steps.get(op.outputs.at(-1));
      if (op.call && !step) continue;
      const left: ProgramOp[] = [];
      for (const each of [...waiting, step ? step.op : op]) {
        const isReady = each.inputs.every((id) => known.has(id));
        if (!isReady) {
          left.push(each);
          continue;
        }
        this.#appendOp(program, each, steps, taken, known);
        for (const id of each.outputs) {
          if (read.has(id) && !known.has(id)) known.set(id, this.#defineTape(program.values[id]!));
        }
      }
      waiting = left;
    }
    for (const id of plan.backward?.saved.withData ?? []) {
      const value = known.get(id);
      if (typeof value !== 'number' || this.tapes.has(value)) continue;
      this.keptAt[value]!.push({ frame, id });
    }
    return known;
  }

  /**
   * A backward inside the program reads the tape of an op that the path replaces. No gradient flows through it, and
   * control ops are never run again, so their tape comes from an op without regions.
   */
  #defineTape(meta: TensorMeta): ValueId {
    const tape = this.define(meta);
    this.tapes.add(tape);
    const ends = { inputs: [], outputs: [tape], attrs: {} };
    this.ops.push({ op: condBackwardOp, ...ends, recordsGrad: false, at: undefined });
    return tape;
  }

  #appendOp(
    { values }: Program,
    op: ProgramOp,
    steps: ReadonlyMap<ValueId | undefined, Step>,
    taken: TakenPath,
    known: Known,
  ): void {
    const results =
      this.#onPath(op, steps, taken, known) ??
      this.#lists.perform(
        op,
        op.inputs.map((id) => known.get(id)!),
        taken.marks.find(({ mark }) => mark === op.outputs[1])?.index,
      );
    if (results) {
      results.forEach((value, i) => {
        if (value !== null) known.set(op.outputs[i]!, value);
      });
      return;
    }
    const found = (id: ValueId) => this.valueOf(known.get(id), values[id]!);
    const inputs = op.inputs.map(found);
    const before = op.before === undefined ? {} : { before: found(op.before) };
    const outputs = op.outputs.map((id) => this.define(values[id]!));
    op.outputs.forEach((id, i) => {
      known.set(id, outputs[i]!);
    });
    this.ops.push({ ...op, inputs, outputs, ...before });
  }

  /** Returns the results of the regions that an op ran; null if the op is kept. */
  #onPath(
    op: ProgramOp,
    steps: ReadonlyMap<ValueId | undefined, Step>,
    { tapes }: TakenPath,
    known: Known,
  ): readonly OnPath[] | null {
    const tape = op.outputs.at(-1);
    const runs = tapes.find((each) => each.tape === tape)?.runs;
    if (!runs) return null;
    const step = steps.get(tape)!;
    const inputs = op.inputs.map((id) => known.get(id)!);
    if (step.call) {
      const [{ given, frame, inside } = { given: [], frame: 0, inside: none }] = runs;
      if (runs.length === 0 || !given) return null;
      const { forms, list } = step.call.call;
      const operands = inputs.flatMap((input, i): readonly OnPath[] => {
        if (forms[i] === 'number') return [];
        return forms[i] === 'list' && typeof input !== 'number' ? input : [input];
      });
      const { program } = step.call.call.at(given);
      if (operands.length !== program.inputs.length) return null;
      const own = this.append(program, step.call.at(given), inside, frame, operands);
      const results = program.outputs.map((id) => own.get(id)!);
      return list ? [results] : results;
    }
    const { regions = [] } = op;
    const results = op.outputs.slice(0, -1);
    const carries = op.op === whileOp;
    let state: readonly OnPath[] = carries ? inputs.slice(0, results.length) : [];
    const captured = inputs.slice(carries ? results.length : 1);
    for (const { region, frame, inside } of runs) {
      const { program: body } = regions[region]!;
      const operands = [...state, ...captured];
      const own = this.append(body, step.regions![region]!, inside, frame, operands);
      state = body.outputs.map((id) => own.get(id)!);
    }
    return state;
  }
}

const none: TakenPath = { tapes: [], marks: [] };

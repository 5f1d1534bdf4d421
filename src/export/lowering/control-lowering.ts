import { ArgumentError } from '../../../runtime/errors/errors.ts';
import { condBackwardOp, whileBackwardOp } from '../../../runtime/program/control-ops.ts';
import type { BackwardPart } from '../../../runtime/program/plan.ts';
import type { Program, ProgramOp, Region } from '../../../runtime/program/program.ts';
import { writtenOperands } from '../../../runtime/program/writes.ts';
import { ControlGradients, type WriteOps } from './control-gradients.ts';
import { Frame } from './frame.ts';
import { Slot } from './slots.ts';
import { type SavedLayout, type TapeLayout, tapeLayout } from './tape-layout.ts';
import type { Engine, RowTables, TargetValue } from './target.ts';

/** Writes branches and loops, and the ops that undo them. */
export class ControlLowering<V extends TargetValue, A> {
  readonly #engine: Engine<V, A>;
  readonly #backwardParts: ReadonlyMap<Region, BackwardPart>;
  readonly #write: WriteOps<V, A>;
  readonly #gradients: ControlGradients<V, A> | null;

  constructor(
    engine: Engine<V, A>,
    backwardParts: ReadonlyMap<Region, BackwardPart>,
    write: WriteOps<V, A>,
  ) {
    this.#engine = engine;
    this.#backwardParts = backwardParts;
    this.#write = write;
    this.#gradients = engine.gradients && new ControlGradients(engine, engine.gradients, write);
  }

  /** Results of both branches, which see the values around them; what they write to comes out as further results. */
  cond(
    op: ProgramOp,
    frame: Frame<V, A>,
  ): {
    readonly results: readonly V[];
    readonly written: readonly (readonly [Slot<V, A>, V])[];
  } {
    const [test, ...captured] = op.inputs;
    const targets = writtenOperands(op).map((index) => index - 1);
    for (const index of targets) {
      const target = frame.slot(captured[index]!);
      const isShared = captured.some(
        (id, i) => i !== index && frame.slots.get(id)?.sharesWith(target),
      );
      if (!isShared) continue;
      const given = 'a branch that writes to a tensor and reads it under another name';
      throw refused(op.op.name, given, this.#engine);
    }
    const layout = this.#layoutOf(op, frame);
    if (layout && !this.#gradients) {
      throw refused(
        condBackwardOp.name,
        'the gradient of a branch that is data-dependent',
        this.#engine,
        'StableHLO, or branches that gradients do not flow through',
      );
    }
    const condition = frame.slot(test!).read();
    const operands = captured.map((id) => frame.slot(id).read());
    const branches = op.regions!.map(({ program }, number) => () => {
      const own = layout?.regions[number] ?? null;
      const inside = this.#region(program, operands, own);
      const values = [...program.outputs, ...targets.map((index) => program.inputs[index]!)];
      const kept = layout?.regions.flatMap((each, i) => {
        if (!each) return [];
        return i === number ? this.#gradients!.saved(each, inside) : this.#gradients!.unsaved(each);
      });
      return [...values.map((id) => inside.slot(id).read()), ...(kept ?? [])];
    });
    const all = this.#engine.branch(condition, branches);
    const count = op.regions![0]!.program.outputs.length;
    const kept = all.slice(count + targets.length);
    this.#keep(op, layout, frame, [condition, ...kept], [condition, ...operands]);
    return {
      results: all.slice(0, count),
      written: targets.map((index, i) => [frame.slot(captured[index]!), all[count + i]!]),
    };
  }

  /** What an iteration carries on becomes arguments of the regions; the rest they see. */
  while(op: ProgramOp, frame: Frame<V, A>): readonly V[] {
    if (writtenOperands(op).length > 0) {
      throw refused(op.op.name, 'a loop that writes to a pre-existing tensor', this.#engine);
    }
    const engine = this.#engine;
    const [test, body] = op.regions!.map(({ program }) => program) as [Program, Program];
    const layout = this.#layoutOf(op, frame);
    const saved = layout?.regions[0] ?? null;
    const operands = op.inputs.map((id) => frame.slot(id).read());
    const count = body.outputs.length;
    const starts = operands.slice(0, count);
    const captured = operands.slice(count);
    const rows = layout && this.#rows();
    const empty = rows && saved ? this.#gradients!.emptyTables(saved, rows) : [];
    const kept = rows ? [engine.constant(0, 'i32'), ...empty] : [];
    const ends = engine.loop(
      [...starts, ...kept],
      (carried) => {
        const inside = this.#region(test, [...carried.slice(0, count), ...captured], null);
        return inside.slot(test.outputs[0]!).read();
      },
      (carried) => {
        const inside = this.#region(body, [...carried.slice(0, count), ...captured], saved);
        const results = body.outputs.map((id) => inside.slot(id).read());
        if (!rows) return results;
        const [number, ...tables] = carried.slice(count) as [V, ...V[]];
        const values = saved ? this.#gradients!.saved(saved, inside) : [];
        const written = values.map((value, i) => rows.write(tables[i]!, value, number));
        return [...results, engine.binary('add', number, engine.constant(1, 'i32')), ...written];
      },
    );
    this.#keep(op, layout, frame, ends.slice(count), operands);
    return ends.slice(0, count);
  }

  /** Gradients of the operands of a branch or loop. */
  backward({ op, inputs, attrs }: ProgramOp, frame: Frame<V, A>): Slot<V, A>[] {
    const [id, ...given] = inputs;
    const tape = frame.tapes.get(id!)!;
    const of = attrs.of as readonly number[];
    const to = attrs.to as readonly number[];
    const gradients = new Map(given.map((value, i) => [of[i]!, frame.slot(value)]));
    return op === whileBackwardOp
      ? this.#gradients!.ofLoop(tape, gradients, to, this.#rows())
      : this.#gradients!.ofBranch(tape, gradients, to);
  }

  #rows(): RowTables<V> {
    const { rows } = this.#engine;
    if (rows) return rows;
    throw refused(
      whileBackwardOp.name,
      'the gradient of a loop whose iterations are data-dependent',
      this.#engine,
      'StableHLO with a bound: exportStableHLO(f, { maxIterations })',
    );
  }

  /** The tape that an op is to keep; null: nothing reads it. */
  #layoutOf(op: ProgramOp, frame: Frame<V, A>): TapeLayout | null {
    return frame.isRead(op.outputs.at(-1)!) ? tapeLayout(op, this.#backwardParts) : null;
  }

  #keep(
    op: ProgramOp,
    layout: TapeLayout | null,
    frame: Frame<V, A>,
    values: readonly V[],
    operands: readonly V[],
  ): void {
    if (!layout) return;
    const read = [...layout.operands].map((number) => [number, operands[number]!] as const);
    frame.tapes.set(op.outputs.at(-1)!, { layout, values, operands: new Map(read) });
  }

  /** Writes the ops of a region; `saved`: what backward reads of it. */
  #region(program: Program, operands: readonly V[], saved: SavedLayout | null): Frame<V, A> {
    const frame = new Frame<V, A>(saved?.tapes.keys());
    program.inputs.forEach((id, i) => {
      frame.slots.set(id, Slot.of(this.#engine, operands[i]!));
    });
    this.#write(program, program.ops, frame);
    return frame;
  }
}

export function refused(
  name: string,
  given: string,
  { form }: { readonly form: string },
  expected = 'branches, and loops without writes to tensors around them',
): ArgumentError {
  return new ArgumentError({
    what: `export: ${name} has no form in ${form}`,
    given,
    expected,
    remedy: 'compute a new tensor, use where(), or a loop over a constant count',
  });
}

import { ArgumentError } from '../../../runtime/errors/errors.ts';
import { condBackwardOp, whileBackwardOp } from '../../../runtime/program/control-ops.ts';
import type { BackwardPart } from '../../../runtime/program/plan.ts';
import type { Program, ProgramOp, Region } from '../../../runtime/program/program.ts';
import { writtenOperands } from '../../../runtime/program/writes.ts';
import type { Engine, RowTables, TargetValue } from '../target/target.ts';
import { ControlGradients, type WriteOps } from './control-gradients.ts';
import { Frame } from './frame.ts';
import { Memory } from './memory.ts';
import { Slot } from './slots.ts';
import { type SavedLayout, type TapeLayout, tapeLayout } from './tape-layout.ts';

/** The results of a branch or loop, and its effects on memory. */
interface ControlResults<V> {
  readonly values: readonly V[];
  readonly written: readonly (readonly [Memory<V>, V])[];
  /** The memories that each result may be. */
  readonly shows: readonly ReadonlySet<Memory<V>>[];
}

/** Lowers branches, loops and their backward ops. */
export class ControlLowering<V extends TargetValue> {
  readonly #engine: Engine<V>;
  readonly #backwardParts: ReadonlyMap<Region, BackwardPart>;
  readonly #write: WriteOps<V>;
  readonly #gradients: ControlGradients<V> | null;

  constructor(
    engine: Engine<V>,
    backwardParts: ReadonlyMap<Region, BackwardPart>,
    write: WriteOps<V>,
  ) {
    this.#engine = engine;
    this.#backwardParts = backwardParts;
    this.#write = write;
    this.#gradients = engine.gradients && new ControlGradients(engine, engine.gradients, write);
  }

  /** Both branches see the surrounding values; memory that they write is returned as additional results. */
  cond(op: ProgramOp, frame: Frame<V>): ControlResults<V> {
    const [test, ...captured] = op.inputs;
    const layout = this.#layoutOf(op, frame);
    if (layout && !this.#gradients) {
      throw refused(
        condBackwardOp.name,
        'the gradient of a branch that is data-dependent',
        this.#engine,
        'StableHLO, or branches that gradients do not flow through',
      );
    }
    const outside = captured.map((id) => frame.slot(id));
    const written = this.#writtenMemories(op, frame);
    const condition = frame.slot(test!).read();
    const operands = outside.map((slot) => slot.read());
    const shows = op.outputs.map(() => new Set<Memory<V>>());
    const branches = op.regions!.map(({ program }, number) => () => {
      const inside = new Map(written.map((memory) => [memory, new Memory(memory.current)]));
      const inputs = this.#inputs(outside, operands, inside);
      const frame = this.#region(program, inputs, layout?.regions[number] ?? null);
      const results = program.outputs.map((id) => frame.slot(id));
      this.#shown(results, inputs, outside).forEach((memories, i) => {
        for (const memory of memories) shows[i]!.add(memory);
      });
      const kept = layout?.regions.flatMap((each, i) => {
        if (!each) return [];
        return i === number ? this.#gradients!.saved(each, frame) : this.#gradients!.unsaved(each);
      });
      const values = results.map((slot) => slot.read());
      return [...values, ...written.map((each) => inside.get(each)!.current), ...(kept ?? [])];
    });
    const all = this.#engine.branch(condition, branches);
    const count = op.regions![0]!.program.outputs.length;
    const kept = all.slice(count + written.length);
    this.#keep(op, layout, frame, [condition, ...kept], [condition, ...operands]);
    return {
      values: all.slice(0, count),
      written: written.map((memory, i) => [memory, all[count + i]!]),
      shows,
    };
  }

  /**
   * Lowers a loop. Loop-carried values and memory that the loop writes become arguments of the regions, which see
   * all other values directly.
   */
  while(op: ProgramOp, frame: Frame<V>): ControlResults<V> {
    const engine = this.#engine;
    const [test, body] = op.regions!.map(({ program }) => program) as [Program, Program];
    const count = body.outputs.length;
    const layout = this.#layoutOf(op, frame);
    const saved = layout?.regions[0] ?? null;
    const outside = op.inputs.map((id) => frame.slot(id));
    const written = this.#writtenMemories(op, frame);
    const isWritten = (memories: Iterable<Memory<V>>) =>
      [...memories].some((memory) => written.includes(memory));
    if (outside.slice(0, count).some(({ memory }) => isWritten(memory.maybe()))) {
      throw refused(op.op.name, 'a loop that writes to what it starts from', engine);
    }
    const operands = outside.map((slot) => slot.read());
    const rows = layout && this.#rows();
    const empty = rows && saved ? this.#gradients!.emptyTables(saved, rows) : [];
    const kept = rows ? [engine.constant(0, 'i32'), ...empty] : [];
    const first = count + written.length;
    const enter = (program: Program, carried: readonly V[], saved: SavedLayout | null) => {
      const inside = new Map(written.map((each, i) => [each, new Memory(carried[count + i]!)]));
      const values = [...carried.slice(0, count), ...operands.slice(count)];
      const inputs = this.#inputs(outside, values, inside);
      return { inside, inputs, frame: this.#region(program, inputs, saved) };
    };
    let shows: Set<Memory<V>>[] = [];
    const ends = engine.loop(
      [...operands.slice(0, count), ...written.map(({ current }) => current), ...kept],
      (carried) => enter(test, carried, null).frame.slot(test.outputs[0]!).read(),
      (carried) => {
        const { inside, inputs, frame } = enter(body, carried, saved);
        const results = body.outputs.map((id) => frame.slot(id));
        shows = this.#shown(results, inputs, outside);
        if (shows.some(isWritten)) {
          throw refused(op.op.name, 'a loop that carries on a view of what it writes', engine);
        }
        const values = [
          ...results.map((slot) => slot.read()),
          ...written.map((each) => inside.get(each)!.current),
        ];
        if (!rows) return values;
        const [number, ...tables] = carried.slice(first) as [V, ...V[]];
        const savedValues = saved ? this.#gradients!.saved(saved, frame) : [];
        const filled = savedValues.map((value, i) => rows.write(tables[i]!, value, number));
        return [...values, engine.binary('add', number, engine.constant(1, 'i32')), ...filled];
      },
    );
    this.#keep(op, layout, frame, ends.slice(first), operands);
    const starts = outside.slice(0, count).map(({ memory }) => memory);
    addIterations(shows, starts);
    return {
      values: ends.slice(0, count),
      written: written.map((memory, i) => [memory, ends[count + i]!]),
      shows,
    };
  }

  /** Returns the memories that the op writes. Throws if it is data-dependent whether an operand is such a memory. */
  #writtenMemories(op: ProgramOp, frame: Frame<V>): readonly Memory<V>[] {
    const targets = writtenOperands(op).map((number) => frame.slot(op.inputs[number]!).memory);
    const written = [...new Set(targets)];
    for (const id of op.inputs) {
      const { memory } = frame.slot(id);
      if (written.includes(memory) || !written.some((each) => memory.maybe().has(each))) continue;
      const given = 'a write to a tensor, and a read of one that may share its memory';
      throw refused(op.op.name, given, this.#engine);
    }
    return written;
  }

  /** Returns the inputs of a region: values, and views of memory that it writes. */
  #inputs(
    outside: readonly Slot<V>[],
    values: readonly V[],
    inside: ReadonlyMap<Memory<V>, Memory<V>>,
  ): Slot<V>[] {
    return outside.map((slot, i) => {
      const memory = inside.get(slot.memory);
      return memory ? slot.over(memory) : Slot.of(this.#engine, values[i]!);
    });
  }

  /** For each result of a region, returns the memories, inside and among its outer operands, that it may be. */
  #shown(
    results: readonly Slot<V>[],
    inputs: readonly Slot<V>[],
    outside: readonly Slot<V>[],
  ): Set<Memory<V>>[] {
    return results.map(({ memory }) => {
      const inside = memory.maybe();
      const operands = outside.filter((_, i) => inside.has(inputs[i]!.memory));
      return new Set([...inside, ...operands.map((slot) => slot.memory)]);
    });
  }

  /** Returns the gradients of the operands of a branch or loop. */
  backward({ op, inputs, attrs }: ProgramOp, frame: Frame<V>): Slot<V>[] {
    const [id, ...gradOutputs] = inputs;
    const tape = frame.tapes.get(id!)!;
    const of = attrs.of as readonly number[];
    const to = attrs.to as readonly number[];
    const gradients = new Map(gradOutputs.map((value, i) => [of[i]!, frame.slot(value)]));
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

  /** The tape that an op must keep; null if nothing reads it. */
  #layoutOf(op: ProgramOp, frame: Frame<V>): TapeLayout | null {
    if (!frame.isRead(op.outputs.at(-1)!)) return null;
    const memoryOf = (operand: number) => frame.slot(op.inputs[operand]!).memory;
    const targets = new Set(writtenOperands(op).map(memoryOf));
    return tapeLayout(op, this.#backwardParts, (operand) => targets.has(memoryOf(operand)));
  }

  #keep(
    op: ProgramOp,
    layout: TapeLayout | null,
    frame: Frame<V>,
    values: readonly V[],
    operands: readonly V[],
  ): void {
    if (!layout) return;
    const read = [...layout.operands].map((number) => [number, operands[number]!] as const);
    frame.tapes.set(op.outputs.at(-1)!, { layout, values, operands: new Map(read) });
  }

  /** Lowers the ops of a region; `saved`: the values that backward reads. */
  #region(program: Program, inputs: readonly Slot<V>[], saved: SavedLayout | null): Frame<V> {
    const frame = new Frame<V>(saved?.tapes.keys());
    program.inputs.forEach((id, i) => {
      frame.slots.set(id, inputs[i]!);
    });
    this.#write(program, program.ops, frame);
    return frame;
  }
}

/**
 * Adds what results may show after any number of iterations: without one they are the starts, and a result of one
 * iteration may be an operand of the next.
 */
function addIterations<M>(shows: readonly Set<M>[], starts: readonly M[]): void {
  shows.forEach((memories, i) => {
    memories.add(starts[i]!);
  });
  for (let pass = 0; pass < starts.length; pass++) {
    for (const memories of shows) {
      starts.forEach((start, i) => {
        if (memories.has(start)) for (const memory of shows[i]!) memories.add(memory);
      });
    }
  }
}

export function refused(
  name: string,
  given: string,
  { form }: { readonly form: string },
  expected = 'branches and loops that write to tensors which they do not start from or return',
): ArgumentError {
  return new ArgumentError({
    what: `export: ${name} has no form in ${form}`,
    given,
    expected,
    remedy: 'compute a new tensor, use where(), or a loop over a constant count',
  });
}

import { operandUse } from '../../../runtime/device/kernel-op.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { dtypes } from '../../../runtime/spec/dtype.ts';
import { ProgramFacts } from '../facts/program-facts.ts';
import { type Cut, type Slicing, slicingOf } from './rules.ts';

/** The region to slice, and the number of parts. */
export interface SlicePlan {
  readonly parts: number;
  /** Dimensions along which whole inputs of the sliced ops are cut. */
  readonly seeds: ReadonlyMap<ValueId, number>;
  /** Seeds with the data to process: ops that follow from these are sliced. */
  readonly from: ReadonlySet<ValueId>;
  /** The batch size: other results of that length are cut, too. By default only what follows from the seeds. */
  readonly batch?: number;
  /** Whether slices may end within a block of a sum. */
  readonly splitsBlocks?: boolean;
  /** Indices of the ops that may be sliced; all by default. */
  readonly only?: ReadonlySet<number>;
}

export type Stage = 'before' | 'sliced' | 'after';

/** The ops that run in slices: those between values that exist as a whole and ops that need all slices. */
export interface SliceRegion {
  readonly stages: readonly Stage[];
  /** How each sliced op is computed, by its index. */
  readonly slicings: ReadonlyMap<number, Slicing>;
  /** The dimension along which each value that exists in parts is cut. */
  readonly cutOf: ReadonlyMap<ValueId, number>;
  /** Pre-existing memory that the slices write, part by part. */
  readonly written: ReadonlyMap<ValueId, number>;
}

/**
 * In: a straight-line program. Out: its ops before, in and after slices, or null if no such order is equivalent; ops
 * that reject values must throw as before. Ops before the slices read nothing that slices compute or write.
 */
export function findRegion(program: Program, plan: SlicePlan): SliceRegion | null {
  return new RegionFinder(program, plan).find();
}

class RegionFinder {
  readonly #program: Program;
  readonly #facts: ProgramFacts;
  readonly #plan: SlicePlan;
  readonly #inputs: ReadonlySet<ValueId>;
  readonly #stages: Stage[] = [];
  readonly #slicings = new Map<number, Slicing>();
  readonly #stageOf = new Map<ValueId, Stage>();
  readonly #cutOf = new Map<ValueId, number>();
  readonly #seeds: Map<ValueId, number>;
  /** Values that lead to sliced ops. */
  readonly #leading: Set<ValueId>;
  readonly #written = new Map<ValueId, number>();
  /** Memory that slices read, with its cut dimension; null if they read it as a whole. */
  readonly #readInSlices = new Map<ValueId, Set<Cut>>();
  readonly #touchedAfter = new Set<ValueId>();
  readonly #writtenAfter = new Set<ValueId>();
  /** Values that ops after the slices check before they may throw. */
  readonly #lookedAtAfter = new Set<ValueId>();
  #refusesAfter = false;

  constructor(program: Program, plan: SlicePlan) {
    this.#program = program;
    this.#facts = ProgramFacts.of(program);
    this.#plan = plan;
    this.#inputs = new Set(program.inputs);
    this.#seeds = new Map(plan.seeds);
    this.#leading = new Set(plan.from);
  }

  find(): SliceRegion | null {
    for (const [index, op] of this.#program.ops.entries()) {
      const stage = this.#place(op, index);
      if (stage === null) return null;
      this.#stages.push(stage);
      for (const id of op.outputs) {
        const slicing = this.#slicings.get(index);
        this.#stageOf.set(id, slicing && slicing.kind !== 'map' ? 'after' : stage);
      }
    }
    const { outputs } = this.#program;
    // A returned value must have memory of its own, or share it with another value, exactly as before.
    const isView = (id: ValueId) => this.#cutOf.has(id) && this.#facts.rootOf(id) !== id;
    if (this.#slicings.size < 2 || outputs.some(isView)) return null;
    const [stages, slicings, cutOf, written] = [
      this.#stages,
      this.#slicings,
      this.#cutOf,
      this.#written,
    ];
    return { stages, slicings, cutOf, written };
  }

  #place(op: ProgramOp, index: number): Stage | null {
    const data = op.inputs.filter((_, i) => operandUse(op.op, i) === 'data');
    const roots = data.map((id) => this.#facts.rootOf(id));
    const isLate = data.some((id, i) => {
      const written = this.#written.has(roots[i]!) && roots[i] !== id;
      return written || this.#stageOf.get(id) === 'after' || this.#writtenAfter.has(roots[i]!);
    });
    if (isLate) return this.#after(op, roots);
    const isWhole = data.every((id) => !this.#isCut(id));
    const isView = op.op.kernel.kind === 'view';
    const mayBeSliced = this.#plan.only?.has(index) ?? !(isWhole && isView);
    if (mayBeSliced) {
      const slicing = this.#slicingOf(op);
      if (slicing) return this.#slice(op, index, slicing);
    }
    return isWhole ? this.#before(op, roots) : this.#after(op, roots);
  }

  #isCut(id: ValueId): boolean {
    return this.#cutOf.has(id) || this.#written.has(id);
  }

  #wishOf(id: ValueId): Cut {
    return this.#cutOf.get(id) ?? this.#written.get(id) ?? this.#seeds.get(id) ?? null;
  }

  #usesOf({ op, inputs }: ProgramOp): Cut[] {
    return inputs.map((id, i) => (operandUse(op, i) === 'data' ? this.#wishOf(id) : null));
  }

  #slicingOf(op: ProgramOp): Slicing | null {
    const { values } = this.#program;
    const leads = op.inputs.some((id, i) => {
      return operandUse(op.op, i) === 'data' && (this.#isCut(id) || this.#leading.has(id));
    });
    const slicing = leads ? this.#ruleOf(op) : null;
    if (!slicing || (op.op.mayRefuse && !this.#isInParts(op, slicing))) return null;
    const { parts } = this.#plan;
    const fits = slicing.operands.every((cut, i) => {
      const id = op.inputs[i]!;
      if (cut !== null && values[id]!.shape[cut]! % parts !== 0) return false;
      if (operandUse(op.op, i) === 'shape') return true;
      return this.#isCut(id) ? this.#wishOf(id) === cut : true;
    });
    return fits && (!op.op.inPlace || this.#mayWrite(op, slicing)) ? slicing : null;
  }

  /** Whether an op that may throw can have its operand in parts: it throws once all parts exist. */
  #isInParts({ inputs, again }: ProgramOp, { kind }: Slicing): boolean {
    return kind === 'labelScores' && this.#cutOf.has(inputs[0]!) && again === undefined;
  }

  #ruleOf(op: ProgramOp): Slicing | null {
    const cuts = this.#usesOf(op);
    if (cuts.every((cut) => cut === null)) return null;
    const { values } = this.#program;
    const metas = (ids: readonly ValueId[]) => ids.map((id) => values[id]!);
    const { parts, splitsBlocks = false } = this.#plan;
    const [inputs, outputs] = [metas(op.inputs), metas(op.outputs)];
    return slicingOf({ op, inputs, outputs, cuts, parts, splitsBlocks });
  }

  /** Slices write pre-existing memory only if no slice reads another part of it. */
  #mayWrite({ inputs }: ProgramOp, { operands }: Slicing): boolean {
    const target = inputs[0]!;
    const cut = operands[0]!;
    if (cut === null) return false;
    if (this.#cutOf.has(target)) return this.#facts.rootOf(target) === target;
    if (!this.#inputs.has(target) || this.#touchedAfter.has(target)) return false;
    return [...(this.#readInSlices.get(target) ?? [])].every((read) => read === cut);
  }

  #slice(op: ProgramOp, index: number, slicing: Slicing): Stage | null {
    this.#slicings.set(index, slicing);
    op.inputs.forEach((id, i) => {
      if (operandUse(op.op, i) !== 'data' || this.#cutOf.has(id)) return;
      const root = this.#facts.rootOf(id);
      const reads = this.#readInSlices.get(root) ?? new Set<Cut>();
      this.#readInSlices.set(root, reads.add(root === id ? slicing.operands[i]! : null));
    });
    if (op.op.inPlace && !this.#cutOf.has(op.inputs[0]!)) {
      if (this.#refusesAfter) return null;
      this.#written.set(op.inputs[0]!, slicing.operands[0]!);
    }
    if (slicing.kind === 'labelScores') {
      const data = op.inputs.map((id) => this.#facts.rootOf(id));
      return this.#after(op, data.slice(1));
    }
    if (slicing.kind !== 'map') return 'sliced';
    op.outputs.forEach((id, i) => {
      this.#cutOf.set(id, slicing.outputs[i]!);
    });
    return 'sliced';
  }

  #before(op: ProgramOp, roots: readonly ValueId[]): Stage | null {
    if (op.op.inPlace) {
      const target = roots[0]!;
      const isTouched = this.#readInSlices.has(target) || this.#touchedAfter.has(target);
      if (isTouched || this.#refusesAfter) return this.#after(op, roots);
    }
    if (op.op.mayRefuse && this.#refusesAfter) {
      // The op would throw before an earlier op that may throw.
      if (!this.#lookedAt(op).every((id) => this.#lookedAtAfter.has(id))) return null;
    }
    this.#seed(op);
    return 'before';
  }

  #after(op: ProgramOp, roots: readonly ValueId[]): Stage {
    for (const root of roots) this.#touchedAfter.add(root);
    if (op.op.inPlace) this.#writtenAfter.add(roots[0]!);
    if (op.op.mayRefuse) {
      this.#refusesAfter = true;
      for (const id of this.#lookedAt(op)) this.#lookedAtAfter.add(id);
    }
    return 'after';
  }

  #lookedAt({ op, inputs }: ProgramOp): ValueId[] {
    const { values } = this.#program;
    const ids = inputs.filter((id, i) => {
      return operandUse(op, i) === 'data' && values[id]!.dtype === 'int32';
    });
    return ids.map((id) => this.#facts.rootOf(id));
  }

  /** Records where results that exist as a whole may be cut, and whether they lead to sliced ops. */
  #seed(op: ProgramOp): void {
    const { values } = this.#program;
    const [result] = op.outputs;
    if (result === undefined) return;
    const data = op.inputs.filter((_, i) => operandUse(op.op, i) === 'data');
    const isFloat = (id: ValueId) => dtypes[values[id]!.dtype].floating;
    if (op.op.kernel.kind === 'view') {
      const slicing = this.#ruleOf(op);
      if (slicing?.kind !== 'map') return;
      this.#seeds.set(result, slicing.outputs[0]!);
      if (data.some((id) => this.#leading.has(id))) this.#leading.add(result);
      return;
    }
    const { batch } = this.#plan;
    if (batch === undefined || values[result]!.shape[0] !== batch) return;
    this.#seeds.set(result, 0);
    // A table with rows looked up by index.
    const isLookedUp =
      data.some((id) => !isFloat(id) && this.#seeds.has(id)) &&
      data.some((id) => isFloat(id) && this.#inputs.has(id));
    if (isFloat(result) && (isLookedUp || data.some((id) => this.#leading.has(id)))) {
      this.#leading.add(result);
    }
  }
}

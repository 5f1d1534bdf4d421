import {
  missingOperands,
  takesMissing,
  valuesThatMayMiss,
} from '../../../runtime/program/missing-gradients.ts';
import type { BackwardPart, Plan, PlannedSubgraph, Step } from '../../../runtime/program/plan.ts';
import type { ProgramOp, ValueId, ValueTable } from '../../../runtime/program/program.ts';
import type { Shape } from '../../../runtime/tensor/shape.ts';
import { scratchBytesOf } from '../op-memory.ts';
import { bytesLike, bytesOf } from '../storages.ts';
import { followControl } from './follow-control.ts';
import { followMissing } from './follow-missing.ts';
import { callersPiece, type FollowedScope, heldBy, type Piece, RunMemory } from './run-memory.ts';

/** Says what the control ops of a run that is followed decide. */
export interface Decider {
  /** Which region of a `cond`. */
  branch(op: ProgramOp): number;
  /** Turns of a `while`; `recorded`: each leaves something for backward. */
  turns(op: ProgramOp, recorded: boolean): number;
  /** Which of so many elements of a list an op reads or writes. */
  element(count: number): number;
  /** A number that decides shapes; null: any. */
  number(): number | null;
}

/** Sees every control op of the program itself, not of its regions: `run` is to be called once. */
export type Observer = (
  step: Step,
  scope: FollowedScope,
  run: () => void,
  memory: RunMemory,
) => void;

/**
 * Follows a run step by step and counts its bytes, when it is known what its control ops decide: who owns
 * what is decided exactly as run_program does, so the bytes are those that the allocator will count.
 */
export class Follower {
  readonly decider: Decider;
  readonly memory: RunMemory;
  /** Followed so far, those of regions each time that they ran. */
  steps = 0;

  constructor(decider: Decider, memory = new RunMemory()) {
    this.decider = decider;
    this.memory = memory;
  }

  /** `gradients`: inputs that may be missing. */
  run(
    plan: Plan,
    values: ValueTable,
    scope: FollowedScope,
    gradients: readonly ValueId[] = none,
  ): void {
    const mayMiss = mayMissIn(plan, gradients);
    for (const step of plan.steps) this.#step(step, mayMiss, values, scope);
  }

  /** One step; answers the highest live bytes during it. */
  peakOf(
    step: Step,
    plan: Plan,
    values: ValueTable,
    scope: FollowedScope,
    observer?: Observer,
  ): number {
    const { memory } = this;
    memory.peak = memory.live;
    this.#step(step, mayMissIn(plan, none), values, scope, observer);
    return memory.peak;
  }

  #step(
    step: Step,
    mayMiss: ReadonlySet<ValueId>,
    values: ValueTable,
    scope: FollowedScope,
    observer?: Observer,
  ): void {
    const { memory } = this;
    this.steps++;
    const { kernel } = step.op.op;
    const site = { follower: this, step, values, scope };
    const missing = takesMissing(step.op.op)
      ? none
      : missingOperands(step.op, mayMiss).filter((id) => !scope.has(id));
    if (missing.length > 0) followMissing(site, missing);
    else if (kernel.kind !== 'control') this.#runOp(step, values, scope);
    else {
      const run = () => followControl(kernel.form, site);
      if (observer) observer(step, scope, run, memory);
      else run();
    }
    for (const id of step.frees) memory.dropFrom(scope, id);
  }

  #runOp({ op, reuses }: Step, values: ValueTable, scope: FollowedScope): void {
    const { memory } = this;
    const isView = op.op.kernel.kind === 'view';
    op.outputs.forEach((id, i) => {
      const base = isView ? op.inputs[0]! : reuses[i];
      const piece =
        base === null || base === undefined
          ? memory.make(bytesOf(values, id))
          : memory.share(scope.get(base)!);
      scope.set(id, piece);
    });
    memory.touch(scratchBytesOf(values, op));
  }
}

const none: readonly ValueId[] = [];

/** Plans are followed often, each of them on many ways. */
const mayMissOf = new WeakMap<Plan, ReadonlySet<ValueId>>();

function mayMissIn(plan: Plan, gradients: readonly ValueId[]): ReadonlySet<ValueId> {
  const known = mayMissOf.get(plan);
  if (known) return known;
  const ops = plan.steps.map(({ op }) => op);
  const found = valuesThatMayMiss(ops, gradients);
  mayMissOf.set(plan, found);
  return found;
}

/** A run of a whole subgraph that is followed: forward, then backward in the same scope. */
export class FollowedRun {
  readonly #follower: Follower;
  readonly #planned: Pick<PlannedSubgraph, 'values'>;
  readonly #scope: FollowedScope = new Map();
  /** Of the outputs, with what the caller holds of them. */
  readonly #outputs = new Set<Piece>();
  /** Per output: its shape, where the run has decided it. */
  #shapes: readonly (Shape | undefined)[] = [];

  constructor(planned: Pick<PlannedSubgraph, 'values'>, decider: Decider) {
    this.#planned = planned;
    this.#follower = new Follower(decider);
  }

  /**
   * Answers the bytes above those at the start. `alone`, `donated`: which inputs bring bytes that nobody
   * else holds; those of `donated` were there before.
   */
  forward(plan: Plan, entering: EnteringAlone, observer?: Observer): FollowedBytes {
    const { memory } = this.#follower;
    const { values } = this.#planned;
    const donatedBytes = enterScope(plan, values, entering, memory, this.#scope);
    const start = memory.live;
    const peaks = plan.steps.map(
      (step) => this.#follower.peakOf(step, plan, values, this.#scope, observer) - donatedBytes,
    );
    const outputs = plan.outputs.map((id) => this.#scope.get(id)!);
    for (const output of outputs) this.#outputs.add(memory.share(output));
    this.#shapes = outputs.map(({ shape }) => shape);
    memory.dropAtEnd(this.#scope, plan);
    const outputBytes = sumBytes(this.#outputs);
    return {
      peakBytes: highest(start - donatedBytes, peaks),
      peaks,
      steps: this.#follower.steps,
      savedBytes: memory.live - outputBytes,
      outputBytes,
    };
  }

  /** After `forward`. `alone`: of the gradients that come in, which are those of `gradOutputs`. */
  backward(
    plan: Plan,
    { alone }: EnteringAlone,
    gradOutputs: BackwardPart['gradOutputs'],
    observer?: Observer,
  ): FollowedBytes {
    const { memory } = this.#follower;
    const { values } = this.#planned;
    const before = memory.live;
    plan.inputs.forEach((id, i) => {
      if (plan.unusedInputs.includes(id)) return;
      const shape = this.#shapes[gradOutputs.indexOf(id)];
      const bytes = shape ? bytesLike(values[id]!, shape) : bytesOf(values, id);
      const piece = alone(i) ? memory.make(bytes) : callersPiece();
      this.#scope.set(id, shape ? memory.makeDynamic(piece, shape) : piece);
    });
    const start = memory.live - before;
    const peaks = plan.steps.map(
      (step) => this.#follower.peakOf(step, plan, values, this.#scope, observer) - before,
    );
    // What no gradient has come for is missing.
    const made = plan.outputs.flatMap((id) => this.#scope.get(id) ?? []);
    const results = new Set(made);
    const peakBytes = highest(start, peaks);
    const { steps } = this.#follower;
    return { peakBytes, peaks, steps, savedBytes: 0, outputBytes: sumBytes(results) };
  }

  /** After `forward`: bytes that only a tape holds, and no slot beside it. */
  tapeBytes(tape: ValueId): number {
    const outside = new Set([...this.#scope.values(), ...this.#outputs]);
    const held = [...heldBy(this.#scope.get(tape)!)].filter((piece) => !outside.has(piece));
    return sumBytes(held);
  }
}

/** The inputs of a forward plan come into its scope; answers the bytes that were there before. */
export function enterScope(
  plan: Plan,
  values: ValueTable,
  { alone, donated }: EnteringAlone,
  memory: RunMemory,
  scope: FollowedScope,
): number {
  let donatedBytes = 0;
  plan.inputs.forEach((id, i) => {
    if (plan.unusedInputs.includes(id)) return;
    const own = donated(i) || alone(i);
    scope.set(id, own ? memory.make(bytesOf(values, id)) : callersPiece());
    if (donated(i)) donatedBytes += bytesOf(values, id);
  });
  return donatedBytes;
}

/** Of the bytes at the start and during each step. */
export const highest = (start: number, peaks: readonly number[]): number =>
  peaks.reduce((a, b) => Math.max(a, b), start);

function sumBytes(pieces: Iterable<Piece>): number {
  let sum = 0;
  for (const { bytes } of pieces) sum += bytes;
  return sum;
}

export interface EnteringAlone {
  readonly alone: (input: number) => boolean;
  readonly donated: (input: number) => boolean;
}

export interface FollowedBytes {
  readonly peakBytes: number;
  /** The highest live bytes during each step, from one start for all ways. */
  readonly peaks: readonly number[];
  /** So many were followed, those of regions each time that they ran. */
  readonly steps: number;
  readonly savedBytes: number;
  readonly outputBytes: number;
}

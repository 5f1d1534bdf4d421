import { enableGrad, gradEnabled } from '../../runtime/autograd/grad-mode.ts';
import type { Holder } from '../../runtime/device/holder.ts';
import { skipNumbers } from '../../runtime/random/seed.ts';
import { decided } from '../../runtime/run-program/control/decisions.ts';
import { joinSame } from '../../runtime/run-program/same-outputs.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import { losingOutputs } from '../4-differentiate/lost-histories.ts';
import { type CalledNumber, calledNumber, forgetCalls } from '../guards/called-numbers.ts';
import { type Guard, GuardSet } from '../guards/guard.ts';
import { neededNumbers } from '../guards/needed-numbers.ts';
import { compileReader, type Reader, type SourceNames } from '../guards/source.ts';
import type { CompiledPart } from '../programs/compiled-part.ts';
import type { TraceResult } from '../traces/trace-result.ts';
import type { Frame } from '../vm/bytecode/frame.ts';
import { MadeByRun } from './made-by-run.ts';
import { compileEffects } from './materialize/apply-effects.ts';
import { type CompiledMakes, compileMakes } from './materialize/make.ts';
import {
  compileFrame,
  compileRecipe,
  type RecipeReader,
  type RunValues,
} from './materialize/materialize.ts';
import { watchingReruns } from './materialize/reruns.ts';
import { compileDonation } from './ownership/donation.ts';
import { EarlyDisposal } from './ownership/early-disposal.ts';
import type { OwnedTensors } from './ownership/owned-tensors.ts';
import { runMarked, type SubgraphVariants } from './subgraph-variants.ts';
import { compileUnchosen } from './unchosen.ts';

export type EntryOutcome =
  | { readonly kind: 'return'; readonly value: unknown }
  | { readonly kind: 'break'; readonly frames: Frame[] };

/** An entry with all of its guards. */
export interface GuardedEntry {
  readonly entry: Entry;
  readonly guards: readonly Guard[];
}

/** Estimated bytes per op of one entry's programs, plans and bound kernels. */
const bytesPerOp = 5 * 2 ** 10;
const bytesPerEntry = 32 * 2 ** 10;

/** One compiled path through the code from an entry point: guards, program, and how its results are used. */
export class Entry {
  readonly guards: GuardSet;
  readonly part: CompiledPart;
  readonly result: TraceResult;
  /** Null if no tensor op comes before the break or return, or if the ops are not compiled. */
  readonly subgraph: SubgraphVariants | null;
  readonly #inputs: readonly Reader[];
  readonly #numbers: readonly Reader[];
  readonly #called: readonly CalledNumber[];
  /** The scalar inputs of the current run. */
  readonly #scalars: number[];
  /** Readers of inputs that the program writes in place. */
  readonly #written: readonly Reader[];
  readonly #donation: ReturnType<typeof compileDonation>;
  /** Peak bytes allocated during the last run. */
  #lastPeak = 0;
  /** Tensors freed before the run; null without a program. */
  readonly #early: EarlyDisposal | null;
  /** Null if a run creates no object. */
  readonly #makes: CompiledMakes | null;
  readonly #effects: ReturnType<typeof compileEffects> | undefined;
  readonly #made: MadeByRun;
  /** Outputs whose graph no longer has a backward. */
  readonly #lost: ReturnType<typeof losingOutputs> | undefined;
  /** Whether eager execution throws on this path, so that the call runs eagerly. */
  readonly runsEagerly: boolean;
  /** The entry is for one set of sizes, and runs whenever its guards hold. */
  readonly declines = false;
  readonly #freeUnchosen: ReturnType<typeof compileUnchosen>;
  readonly #lasting: readonly number[];
  readonly #returns: RecipeReader | null;
  readonly #frames: readonly ((values: RunValues) => Frame)[];

  /**
   * `donate`: inputs that die with the call are donated to the program, or freed before it if no op reads them.
   * `shared`: guards that are checked before the entry's own, once for all sizes.
   */
  constructor(
    part: CompiledPart,
    subgraph: SubgraphVariants | null,
    donate: boolean,
    shared: readonly Guard[],
  ) {
    const result = part.trace;
    this.part = part;
    this.result = result;
    this.subgraph = subgraph;
    this.guards = new GuardSet([...result.guards, ...neededNumbers(result)], result.sizes);
    this.#called = result.called;
    this.#numbers = result.numbers.map(compileReader);
    this.#scalars = result.numbers.map(() => 0);
    this.#inputs = subgraph ? result.inputs.map(compileReader) : [];
    this.#written = subgraph ? subgraph.written.map((i) => this.#inputs[i]!) : [];
    this.#donation =
      subgraph && donate ? compileDonation(result, subgraph.usual.stages.planned) : null;
    this.#makes = result.makes.length > 0 ? compileMakes(result.makes) : null;
    const { early, late } =
      subgraph && donate
        ? EarlyDisposal.of(result, subgraph.usual.stages.planned, [...shared, ...result.guards])
        : { early: null, late: result.effects };
    this.#early = early;
    this.#effects = watchingReruns(result, late.length > 0 ? compileEffects(late) : undefined);
    this.#made = new MadeByRun(result);
    this.#freeUnchosen = compileUnchosen(result);
    this.#lasting = lastingOutputs(result);
    const { outcome } = result;
    this.#returns = outcome.kind === 'return' ? compileRecipe(outcome.value) : null;
    this.runsEagerly = outcome.kind === 'break' && outcome.eagerly === true;
    const resumes = outcome.kind === 'break' && !this.runsEagerly;
    this.#frames = resumes ? outcome.frames.map(compileFrame) : [];
    const loses = result.lost.some((why) => why !== null);
    this.#lost = loses ? losingOutputs(result.program, result.lost) : undefined;
  }

  /** Names of the sources, for printing. */
  get names(): SourceNames {
    return this.result;
  }

  /** Makes the final plans of everything run so far. */
  finish(): void {
    this.subgraph?.finish();
  }

  /** The estimated bytes of JavaScript memory that the entry takes. */
  get bytes(): number {
    const { stages } = this.part;
    const ops = (stages?.forward.ops.length ?? 0) + (stages?.backward?.ops.length ?? 0);
    return bytesPerEntry + ops * bytesPerOp;
  }

  get compiled(): GuardedEntry[] {
    return [{ entry: this, guards: this.guards.guards }];
  }

  /** Returns the entry itself if its guards hold. */
  find(frames: readonly Frame[]): Entry | undefined {
    return this.guards.holds(frames) ? this : undefined;
  }

  /** Whether the entry writes to pre-existing tensors, or may stop at an iteration of a loop or at a check. */
  get mayStop(): boolean {
    return this.#written.length > 0 || this.subgraph?.holdsLines === true;
  }

  /** The pre-existing tensors whose memory a run writes in place. */
  writes(frames: readonly Frame[]): readonly Tensor[] {
    if (this.#written.length === 0) return nothing;
    return this.#written.map((read) => read(frames) as Tensor);
  }

  /** Like `#runMeasured`, but first frees inputs that no op reads. */
  #runAfterDisposal(
    subgraph: SubgraphVariants,
    inputs: readonly Tensor[],
    donated: number,
    frames: readonly Frame[],
  ): Tensor[] {
    if (!this.#early || this.#early.isRejected(inputs)) {
      const outputs = this.#runMeasured(subgraph, inputs, donated);
      this.#early?.dispose(frames);
      return outputs;
    }
    this.#disposeEarly(subgraph, this.#early, frames);
    try {
      return this.#runMeasured(subgraph, inputs, donated);
    } catch (error) {
      this.#early.runFailed(frames, error);
      throw error;
    }
  }

  #disposeEarly(subgraph: SubgraphVariants, early: EarlyDisposal, frames: readonly Frame[]): void {
    const { counter } = subgraph.device.allocator;
    const before = counter.allocated;
    early.dispose(frames);
    this.part.record.releasedBytes = before - counter.allocated;
  }

  /** Runs a call eagerly after its run was rejected. */
  runAgain<T>(eagerly: () => T): T {
    return this.#early ? this.#early.runAgain(eagerly) : eagerly();
  }

  /** Runs the program and records the peak of its memory, as counted by the allocator. */
  #runMeasured(subgraph: SubgraphVariants, inputs: readonly Tensor[], donated: number): Tensor[] {
    const { record } = this.part;
    const { counter } = subgraph.device.allocator;
    const before = counter.allocated;
    const peak = counter.peakAllocated;
    counter.peakAllocated = before;
    try {
      if (subgraph.decides) return this.#runDeciding(subgraph, inputs, donated);
      const outputs = runMarked(subgraph, inputs, donated, this.#scalars);
      record.decisions.complete = true;
      return outputs;
    } finally {
      this.#noteRun(subgraph, before, peak);
    }
  }

  /** Records the peak of a run that began with `before` bytes; `peak` is the device's peak until then. */
  #noteRun(subgraph: SubgraphVariants, before: number, peak: number): void {
    const { record } = this.part;
    const { counter } = subgraph.device.allocator;
    record.runs++;
    record.peakBytes = counter.peakAllocated - before;
    this.#lastPeak = counter.peakAllocated;
    record.planned = subgraph.last.planned;
    record.donated = subgraph.lastDonated;
    if (peak > counter.peakAllocated) counter.peakAllocated = peak;
  }

  /** Awaits the run. Memory of other code counts meanwhile, and decisions are not recorded. */
  async #runAwaited(
    subgraph: SubgraphVariants,
    inputs: readonly Tensor[],
    donated: number,
    frames: readonly Frame[],
  ): Promise<Tensor[]> {
    const { record } = this.part;
    const { counter } = subgraph.device.allocator;
    if (this.#early) this.#disposeEarly(subgraph, this.#early, frames);
    const before = counter.allocated;
    const peak = counter.peakAllocated;
    counter.peakAllocated = before;
    try {
      const outputs = await subgraph.runAsync(inputs, donated, this.#scalars);
      record.decisions.complete = !subgraph.decides;
      return outputs;
    } catch (error) {
      this.#early?.runFailed(frames, error);
      throw error;
    } finally {
      this.#noteRun(subgraph, before, peak);
    }
  }

  /** Runs the subgraph and records the decisions of its branches and loops. */
  #runDeciding(subgraph: SubgraphVariants, inputs: readonly Tensor[], donated: number): Tensor[] {
    const { decisions } = this.part.record;
    const around = decided.current;
    decisions.clear();
    decided.current = decisions;
    try {
      const outputs = runMarked(subgraph, inputs, donated, this.#scalars);
      decisions.close();
      return outputs;
    } finally {
      decided.current = around;
    }
  }

  /**
   * Runs the entry, whose guards must hold. Returns undefined if two inputs share memory: the call then runs eagerly.
   * `owned`: tensors that only the frames reference; dead ones are freed.
   */
  run(frames: readonly Frame[], owned: OwnedTensors): EntryOutcome | undefined {
    const inputs = this.#read(frames);
    if (!inputs) return undefined;
    const holders = this.#ownHolders(inputs, owned);
    const { subgraph } = this;
    const outputs = subgraph ? this.#runSubgraph(subgraph, inputs, frames, owned) : [];
    return this.#leave(frames, owned, inputs, holders, outputs);
  }

  /** Runs with an asynchronous backend, one run after another. */
  async runAsync(frames: readonly Frame[], owned: OwnedTensors): Promise<EntryOutcome | undefined> {
    const { subgraph } = this;
    if (!subgraph) return this.run(frames, owned);
    const inputs = this.#read(frames);
    if (!inputs) return undefined;
    const holders = this.#ownHolders(inputs, owned);
    const donated = this.#donated(inputs, frames, owned);
    const run = () => this.#runAwaited(subgraph, inputs, donated, frames);
    const outputs = await (this.#recordsAnyway ? enableGrad(run) : run());
    return this.#leave(frames, owned, inputs, holders, outputs);
  }

  /** Returns the inputs that are donated to the run, as a bit set. */
  #donated(inputs: readonly Tensor[], frames: readonly Frame[], owned: OwnedTensors): number {
    return this.#donation && owned.isUsed && !owned.isEmpty
      ? this.#donation(inputs, frames, owned)
      : 0;
  }

  #runSubgraph(
    subgraph: SubgraphVariants,
    inputs: readonly Tensor[],
    frames: readonly Frame[],
    owned: OwnedTensors,
  ): Tensor[] {
    const donated = this.#donated(inputs, frames, owned);
    return this.#recordsAnyway
      ? this.#runRecording(subgraph, inputs, donated, frames)
      : this.#runAfterDisposal(subgraph, inputs, donated, frames);
  }

  #runRecording(
    subgraph: SubgraphVariants,
    inputs: readonly Tensor[],
    donated: number,
    frames: readonly Frame[],
  ): Tensor[] {
    return enableGrad(() => this.#runAfterDisposal(subgraph, inputs, donated, frames));
  }

  /** In a call under `noGrad`, ops that the function runs under `enableGrad` still record history. */
  get #recordsAnyway(): boolean {
    return !gradEnabled() && this.result.differentiable.includes(true);
  }

  /** Reads inputs and numbers. Undefined if two inputs share memory. */
  #read(frames: readonly Frame[]): Tensor[] | undefined {
    const readers = this.#inputs;
    const inputs = new Array<Tensor>(readers.length);
    for (let i = 0; i < readers.length; i++) inputs[i] = readers[i]!(frames) as Tensor;
    if (this.subgraph?.aliasesWritten(inputs)) return undefined;
    this.#call(frames, false);
    for (let i = 0; i < this.#numbers.length; i++) {
      this.#scalars[i] = Number(this.#numbers[i]!(frames));
    }
    return inputs;
  }

  /** Calls `Math.random()` and the clock: the calls before the run, or the calls after it. */
  #call(frames: readonly Frame[], after: boolean): void {
    for (let i = 0; i < this.#called.length; i++) {
      const call = this.#called[i]!;
      if (call.after === after) calledNumber(frames, call);
    }
  }

  /** Returns the holders of inputs that only the frames reference, before a run reuses donated memory. */
  #ownHolders(inputs: readonly Tensor[], owned: OwnedTensors): (Holder | null)[] | null {
    const keeps = this.subgraph !== null && owned.isUsed && !owned.isEmpty && gradEnabled();
    return keeps ? inputs.map((each) => (owned.has(each) ? each.holder : null)) : null;
  }

  /** Completes a run from its outputs: builds values, applies effects, returns the result or the break's frames. */
  #leave(
    frames: readonly Frame[],
    owned: OwnedTensors,
    inputs: Tensor[],
    holders: readonly (Holder | null)[] | null,
    outputs: Tensor[],
  ): EntryOutcome {
    if (holders) owned.noteSaved(this.subgraph!, holders, this.#lastPeak);
    this.#lost?.(outputs, inputs);
    if (this.result.same.length > 0) joinSame(outputs, this.result.same, inputs);
    this.#call(frames, true);
    if (this.result.randomNumbers > 0) skipNumbers(this.result.randomNumbers);
    const values: RunValues = {
      frames,
      inputs,
      outputs,
      lasting: this.#lasting,
      sizes: this.result.sizes,
      made: [],
    };
    this.#freeUnchosen?.(values);
    this.#makes?.make(values);
    // All reads come before any change.
    const follows = !this.#returns || (owned.isUsed && !owned.followsNothing);
    const captured = follows ? this.#made.captured(values) : nothing;
    const applyEffects = this.#effects?.(values, owned);
    if (this.#returns) {
      const value = this.#returns(values);
      if (this.#called.length > 0) forgetCalls(frames);
      applyEffects?.();
      this.#makes?.advance?.(values);
      for (const index of this.result.reads) outputs[index]!.dispose();
      if (follows) owned.leave(value, this.#made.of(values, captured));
      return { kind: 'return', value };
    }
    const next = this.#frames.map((build) => build(values));
    if (this.#called.length > 0) forgetCalls(frames);
    applyEffects?.();
    this.#makes?.advance?.(values);
    owned.moveTo(next, this.#made.of(values, captured));
    return { kind: 'break', frames: next };
  }
}

const nothing: readonly Tensor[] = [];

/** Outputs that are not numbers; empty without lists, whose elements they may be. */
function lastingOutputs({ program, makes, reads }: TraceResult): readonly number[] {
  if (!makes.some(({ kind }) => kind === 'list')) return [];
  return program.outputs.flatMap((_, i) => (reads.includes(i) ? [] : [i]));
}

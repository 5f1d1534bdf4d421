import { enableGrad, gradEnabled, noGrad } from '../autograd/grad-mode.ts';
import { losingHistory } from '../autograd/lost-history.ts';
import type { Device } from '../device/device.ts';
import { formatSpec, isContiguousMeta, sameSpec } from '../device/tensor-meta.ts';
import { defineData } from '../entry/make.ts';
import { ArgumentError, DataError, DeviceError, OutOfMemoryError } from '../errors/errors.ts';
import { holdsLines } from '../program/checks.ts';
import { ValueGroups } from '../program/memory-groups.ts';
import type { PlannedSubgraph, PredictedMemory } from '../program/plan.ts';
import { writtenInputs } from '../program/writes.ts';
import { skipNumbers } from '../random/seed.ts';
import { holdingLines } from '../run-program/control/lines.ts';
import { Executable } from '../run-program/executor.ts';
import { isRefused } from '../run-program/refused.ts';
import { Subgraph } from '../run-program/run-program.ts';
import { joinSame } from '../run-program/same-outputs.ts';
import { sameShape } from '../spec/shape.ts';
import { keep } from '../tensor/lifetime.ts';
import { sharedWritten } from '../tensor/shared-memory.ts';
import { Tensor } from '../tensor/tensor.ts';
import { entryNeeds } from './entry-needs.ts';
import { badFile } from './file/field.ts';
import { type CallResults, compileMakes, compileSavedItems, recipeReader } from './recipe.ts';
import type { SavedEffect, SavedEntry } from './saved-entry.ts';
import { compileGuard, describe, type GuardCheck, type GuardMismatch } from './saved-guard.ts';
import {
  type CallValues,
  printSavedSource,
  type SavedReader,
  type SavedSource,
  sourceReader,
} from './saved-source.ts';

type Change = () => void;

/** One entry of a loaded program, ready to run. */
export class LoadedEntry {
  readonly saved: SavedEntry;
  readonly planned: PlannedSubgraph | null;
  /** The bytes of a forward run; null if they depend on control flow, or nothing is computed. */
  readonly predicted: PredictedMemory | null;
  readonly #checks: readonly GuardCheck[];
  readonly #inputs: readonly SavedReader[];
  readonly #numbers: readonly SavedReader[];
  readonly #makes: (results: CallResults) => void;
  readonly #result: (results: CallResults) => unknown;
  readonly #effects: readonly ((results: CallResults) => Change)[];
  readonly #lose: readonly (ReturnType<typeof losingHistory> | null)[];
  readonly #device: Device;
  readonly #subgraph: Subgraph | null;
  readonly #holdsLines: boolean;
  /** Indices of written inputs, and of inputs that share memory with results. */
  readonly #written: readonly number[];
  readonly #shown: readonly number[];
  /** Indices of written inputs that must not share memory with another input. */
  readonly #apart: readonly number[];

  /** `predicted` are the bytes of a run if the plan doesn't specify them. */
  constructor(
    saved: SavedEntry,
    planned: PlannedSubgraph | null,
    device: Device,
    predicted: PredictedMemory | null = planned?.forward.predicted ?? null,
  ) {
    this.saved = saved;
    this.predicted = predicted;
    this.planned = planned;
    this.#device = device;
    this.#subgraph = planned && bound(planned, saved);
    this.#holdsLines = planned !== null && holdsLines(planned.forward.steps);
    this.#written = planned ? writtenBy(planned.forward) : [];
    this.#apart = planned?.forward.reordered ? this.#written : [];
    this.#shown = planned ? shownBy(planned.forward) : [];
    this.#checks = [...entryNeeds(saved), ...saved.guards.map(compileGuard)];
    this.#inputs = saved.inputs.map(({ place }) => sourceReader(place));
    this.#numbers = saved.numbers.map(sourceReader);
    this.#makes = compileMakes(saved.makes);
    this.#result = recipeReader(saved.result);
    this.#effects = saved.effects.map(compileEffect);
    this.#lose = saved.spent.map((why) => (why === null ? null : losingHistory(why)));
  }

  /** Returns why this entry doesn't fit the call; undefined if it does. */
  misfit(values: CallValues): GuardMismatch | undefined {
    let needsGrad = false;
    for (let i = 0; i < this.#inputs.length; i++) {
      const value = this.#inputs[i]!(values);
      const wrong = this.#misfitOf(value, i, values);
      if (wrong) return wrong;
      needsGrad ||= (value as Tensor).requiresGrad;
    }
    if (this.#apart.length > 0) {
      const shared = this.#sharedInput(values);
      if (shared) return shared;
    }
    if (needsGrad && gradEnabled() && !this.saved.gradMode) {
      const given = 'a call that records gradients';
      return { kind: 'other', given, expected: 'one inside noGrad, as when the program was made' };
    }
    for (const check of this.#checks) {
      const wrong = check(values);
      if (wrong) return wrong;
    }
    return undefined;
  }

  #sharedInput(values: CallValues): GuardMismatch | undefined {
    const inputs = this.#inputs.map((read) => read(values) as Tensor);
    const i = sharedWritten(inputs, this.#apart);
    if (i < 0) return undefined;
    const name = printSavedSource(this.saved.inputs[i]!.place, values.state);
    return {
      kind: 'other',
      given: `${name}, which is written, and another tensor of its memory`,
      expected: 'tensors of their own memory, as when the program was made',
    };
  }

  /** Whether copying an input would be observable: a result or a written input shares its memory. */
  #isSeen({ holder }: Tensor, i: number, values: CallValues): boolean {
    const isIt = (each: number) =>
      (this.#inputs[each]!(values) as Tensor | null)?.holder === holder;
    return this.#shown.includes(i) || this.#written.some(isIt);
  }

  #misfitOf(value: unknown, i: number, values: CallValues): GuardMismatch | undefined {
    const { state } = values;
    const { place, requiresGrad } = this.saved.inputs[i]!;
    const meta = this.planned!.values[this.planned!.forward.inputs[i]!]!;
    const name = () => printSavedSource(place, state);
    const expected = `a ${formatSpec(meta)} tensor`;
    if (!(value instanceof Tensor)) {
      return { kind: 'other', given: `${name()} is ${describe(value)}`, expected };
    }
    if (!sameSpec(value, meta)) {
      const kind = value.dtype === meta.dtype ? 'shape' : 'dtype';
      return { kind, given: `${name()} is ${describe(value)}`, expected };
    }
    if (value.device !== this.#device) {
      const given = `${name()} is on ${value.device.name}`;
      return { kind: 'device', given, expected: `a tensor on ${this.#device.name}` };
    }
    const isAsPlanned = sameShape(value.strides, meta.strides);
    const mayDiffer =
      isContiguousMeta(meta) && (value.isContiguous || !this.#isSeen(value, i, values));
    if (!isAsPlanned && !mayDiffer) {
      const given = `${name()} has strides [${value.strides.join()}]`;
      return { kind: 'shape', given, expected: `strides [${meta.strides.join()}]` };
    }
    if (value.requiresGrad && !requiresGrad && gradEnabled()) {
      const given = `${name()} requires a gradient`;
      return { kind: 'other', given, expected: 'none: the saved program gives no gradient to it' };
    }
    return undefined;
  }

  /** Runs the program. If it bails out, no line is printed and in-place writes are rolled back. */
  #runProgram(subgraph: Subgraph, inputs: readonly Tensor[], numbers: readonly number[]): Tensor[] {
    const run = () => runProgram(subgraph, inputs, numbers);
    return this.#holdsLines ? holdingLines(run, isRefused) : run();
  }

  run(values: CallValues): unknown {
    const inputs = this.#inputs.map((read) => read(values) as Tensor);
    const numbers = this.#numbers.map((read) => {
      const number = read(values) as number | boolean;
      return typeof number === 'boolean' ? Number(number) : number;
    });
    if (numbers.some((number) => typeof number !== 'number')) throw notANumber(this.saved, values);
    const outputs = this.#subgraph
      ? this.#recording(() => this.#runProgram(this.#subgraph!, inputs, numbers))
      : [];
    const { randomNumbers, reads, optional, same } = this.saved;
    this.#lose.forEach((lose, i) => {
      lose?.(outputs[i]!, inputs);
    });
    if (same.length > 0) joinSame(outputs, same, inputs);
    if (randomNumbers > 0) skipNumbers(randomNumbers);
    const lasting = outputs.flatMap((_, i) => (reads.includes(i) ? [] : [i]));
    const results: CallResults = { ...values, inputs, outputs, lasting, made: [], held: new Set() };
    const { result, changes } = this.#read(results);
    for (const change of changes) change();
    for (const index of reads) outputs[index]!.dispose();
    freeUnchosen(optional, results);
    return result;
  }

  /**
   * Enables recording if the program was traced under `noGrad` but has a backward, because the function uses
   * `enableGrad`.
   */
  #recording<T>(run: () => T): T {
    const records = !this.saved.gradMode && !gradEnabled() && this.planned?.backward;
    return records ? enableGrad(run) : run();
  }

  /** Reads everything before anything changes; on failure, frees the outputs. */
  #read(results: CallResults): { readonly result: unknown; readonly changes: readonly Change[] } {
    try {
      this.#makes(results);
      const changes = this.#effects.map((read) => read(results));
      return { result: this.#result(results), changes };
    } catch (error) {
      for (const output of results.outputs) output.dispose();
      throw error;
    }
  }
}

/** Frees outputs that were not chosen, except inputs and tensors that the caller also received as another output. */
function freeUnchosen(optional: readonly number[], { inputs, outputs, held }: CallResults): void {
  if (optional.length === 0) return;
  const chosen = new Set([...held].map((index) => outputs[index]!));
  for (const index of optional) {
    const output = outputs[index]!;
    if (!chosen.has(output) && !inputs.includes(output)) output.dispose();
  }
}

function writtenBy({ inputs, steps }: PlannedSubgraph['forward']): readonly number[] {
  return writtenInputs({ inputs, ops: steps.map(opOf) });
}

/** Returns the indices of inputs that share memory with a result. */
function shownBy({ inputs, steps, outputs }: PlannedSubgraph['forward']): readonly number[] {
  const groups = new ValueGroups(steps.map(opOf), 'memory');
  const shown = outputs.map((id) => groups.of(id));
  return inputs.flatMap((id, i) => (shown.includes(groups.of(id)) ? [i] : []));
}

const opOf = <T>({ op }: { readonly op: T }): T => op;

/** Subgraphs by graph, because entries may share a graph. */
const subgraphs = new WeakMap<PlannedSubgraph, Subgraph>();

/** Binds the kernels, which validate attributes, before anything runs. */
function bound(planned: PlannedSubgraph, { inputs }: SavedEntry): Subgraph {
  const known = subgraphs.get(planned);
  if (known) return known;
  const { values, backward } = planned;
  try {
    if (backward) {
      new Executable(backward.plan, values);
      new Executable(backward.retainingPlan, values);
    }
    const subgraph = new Subgraph(planned);
    // Calls with fewer gradients than the program was made for run it, too.
    subgraph.becomesLeaf = (i) => !inputs[i]!.requiresGrad;
    subgraphs.set(planned, subgraph);
    return subgraph;
  } catch (error) {
    // A missing kernel or a lack of memory isn't the file's fault.
    if (error instanceof DataError || error instanceof DeviceError) throw error;
    if (error instanceof OutOfMemoryError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw badFile(
      'a program',
      `a kernel that fails: ${reason}`,
      'attributes that its kernels take',
    );
  }
}

function runProgram(
  subgraph: Subgraph,
  inputs: readonly Tensor[],
  numbers: readonly number[],
): Tensor[] {
  if (!gradEnabled() || inputs.some((input) => input.requiresGrad)) {
    return subgraph.run(inputs, 0, numbers);
  }
  // Without requested gradients, nothing needs to be saved for backward.
  return noGrad(() => subgraph.run(inputs, 0, numbers));
}

function notANumber({ numbers }: SavedEntry, values: CallValues): ArgumentError {
  const source = numbers.find((each) => typeof sourceReader(each)(values) !== 'number')!;
  const given = describe(sourceReader(source)(values));
  return new ArgumentError({
    what: `${printSavedSource(source, values.state)} is not a number`,
    given,
    expected: 'a number, as when the program was made',
    remedy: 'pass what the function takes',
  });
}

function compileEffect(effect: SavedEffect): (results: CallResults) => Change {
  switch (effect.kind) {
    case 'disposeOutput':
      return ({ outputs }) => {
        const tensor = outputs[effect.output]!;
        return () => tensor.dispose();
      };
    case 'keepOutput':
      return ({ outputs }) => {
        keep(outputs[effect.output]!);
        return () => {};
      };
    case 'draw': {
      const read = recipeReader(effect.count);
      return (results) => {
        const count = read(results);
        if (typeof count !== 'number' || !Number.isSafeInteger(count) || count < 0) {
          throw badFile('a count of random numbers', String(count), 'a whole number from 0 on');
        }
        return () => skipNumbers(count);
      };
    }
    case 'dispose': {
      const read = sourceReader(effect.place);
      return (results) => {
        const tensor = read(results);
        return () => (tensor as Tensor).dispose();
      };
    }
    case 'fill': {
      const read = sourceReader(effect.place);
      const append = compileSavedItems(effect.items);
      return (results) => {
        const array = read(results) as unknown[];
        const items: unknown[] = [];
        append(items, results);
        return () => {
          if (effect.from === 'start') array.length = 0;
          const start = array.length;
          array.length = start + items.length;
          items.forEach((item, i) => {
            array[start + i] = item;
          });
        };
      };
    }
    case 'delete':
      return changeProperty(effect.place, (object, key) => {
        Reflect.deleteProperty(object, key);
      });
    case 'set': {
      const read = recipeReader(effect.value);
      const { place } = effect;
      if (place.kind === 'state') {
        return (results) => {
          const value = read(results);
          if (value instanceof Tensor) keep(value);
          results.state.expectSettable(place.index, value);
          return () => results.state.set(place.index, value);
        };
      }
      return (results) => {
        const value = read(results);
        return changeProperty(place, (object, key) => defineData(object, key, value))(results);
      };
    }
  }
}

/** Changes a property of an object in an argument. */
function changeProperty(
  source: SavedSource,
  change: (object: object, key: string) => void,
): (results: CallResults) => Change {
  if (source.kind !== 'property') return () => () => {};
  const { key } = source;
  const objectOf = sourceReader(source.base);
  return (results) => {
    const object = objectOf(results) as object;
    return () => change(object, key);
  };
}

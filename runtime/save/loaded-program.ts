import { gradEnabled } from '../autograd/grad-mode.ts';
import type { Device } from '../device/device.ts';
import {
  ArgumentError,
  DeviceError,
  DTypeError,
  type ErrorFacts,
  ShapeError,
} from '../errors/errors.ts';
import { checkInputs } from '../input-spec/check.ts';
import type { InputSpec } from '../input-spec/spec.ts';
import type { PredictedMemory } from '../program/plan.ts';
import { printProgram } from '../program/print.ts';
import type { Tensor } from '../tensor/tensor.ts';
import type { LoadedEntry } from './loaded-entry.ts';
import type { Primitive } from './primitive.ts';
import type { ProgramState } from './program-state.ts';
import type { GuardMismatch } from './saved-guard.ts';
import type { CallValues } from './saved-source.ts';
import type { LoadedSizes } from './sized-program.ts';

/** A saved function that runs without its source and without the compiler. */
export interface LoadedProgram {
  /**
   * Runs the program that was saved for such arguments. If there is none, throws ArgumentError, ShapeError,
   * DTypeError or DeviceError naming the argument, its value and what is expected.
   */
  (...args: readonly unknown[]): unknown;
  /** The function's name. */
  readonly name: string;
  /** The input spec that arguments must match; null if the function was captured without one. */
  readonly inputSpec: readonly InputSpec[] | null;
  /** Returns parameters, buffers and other tensors that are not arguments, by name. The program owns them. */
  state(): Readonly<Record<string, Tensor>>;
  /** Returns other values outside the arguments that runs read and change, such as counters and flags. */
  variables(): Readonly<Record<string, Primitive>>;
  /** Returns the leaves of the state that require a gradient, for an optimizer. */
  parameters(): Tensor[];
  /** Returns the programs as text, one for each set of guards and sizes that was saved. */
  programs(): readonly string[];
  /**
   * Returns the forward bytes of the program that ran last, as the allocator counts them; with branches and loops, of
   * the worst path. Null if none has run, or if it has branches or loops and its sizes occurred in no call before it
   * was saved.
   */
  predicted(): PredictedMemory | null;
  /** Frees the state and its gradients; the program can't run afterwards. */
  dispose(): void;
}

/** The parts of a program in a file. */
export interface ProgramParts {
  readonly name: string;
  readonly inputSpec: readonly InputSpec[] | null;
  readonly state: ProgramState;
  readonly entries: readonly LoadedEntry[];
  /** Programs for sizes that no entry has. */
  readonly everySize: readonly LoadedSizes[];
  readonly device: Device;
}

const partsByProgram = new WeakMap<object, ProgramParts>();

/** Returns the parts of a loaded program; undefined for anything else. */
export function programParts(value: unknown): ProgramParts | undefined {
  return typeof value === 'function' ? partsByProgram.get(value) : undefined;
}

export function loadedProgram(parts: ProgramParts): LoadedProgram {
  const { name, inputSpec, state, entries, everySize } = parts;
  let last = entries[0];
  let lastMode = gradEnabled();
  let ran: LoadedEntry | undefined;
  const find = (values: CallValues): LoadedEntry | undefined => {
    const known = inMode(entries, values);
    return (
      known ??
      inMode(
        everySize.flatMap((sizes) => sizes.entryFor(values) ?? []),
        values,
      )
    );
  };
  const run = (...args: readonly unknown[]): unknown => {
    if (inputSpec) checkInputs(inputSpec, args);
    const values: CallValues = { args, state };
    const mode = gradEnabled();
    if (!last || lastMode !== mode || last.misfit(values)) {
      lastMode = mode;
      const other = find(values);
      if (!other) throw noProgram(parts, values);
      last = other;
    }
    ran = last;
    return last.run(values);
  };
  Object.defineProperty(run, 'name', { value: name, configurable: true });
  const program = Object.assign(run, {
    inputSpec,
    state: () => state.tensors(),
    variables: () => state.variables(),
    parameters: () =>
      Object.values(state.tensors()).filter((each) => each.requiresGrad && each.isLeaf),
    programs: () =>
      entries.flatMap(({ planned }) => (planned ? [printProgram(programOf(planned))] : [])),
    predicted: () => ran?.predicted ?? null,
    dispose: () => {
      for (const tensor of Object.values(state.tensors())) {
        tensor.grad?.dispose();
        tensor.dispose();
      }
    },
  });
  partsByProgram.set(program, parts);
  return program;
}

function programOf({ values, forward }: NonNullable<LoadedEntry['planned']>) {
  const { inputs, outputs, steps } = forward;
  return { values, inputs, outputs, ops: steps.map(({ op }) => op) };
}

const errors: { readonly [K in GuardMismatch['kind']]: new (facts: ErrorFacts) => Error } = {
  shape: ShapeError,
  dtype: DTypeError,
  device: DeviceError,
  other: ArgumentError,
};

/** Returns the first entry that fits, preferring the current gradient mode, which the function may switch itself. */
function inMode(entries: readonly LoadedEntry[], values: CallValues): LoadedEntry | undefined {
  const fitting = entries.filter((entry) => !entry.misfit(values));
  return fitting.find(({ saved }) => saved.gradMode === gradEnabled()) ?? fitting[0];
}

/** Returns the error that names why each of the saved programs doesn't fit the call. */
function noProgram({ name, entries, everySize }: ProgramParts, values: CallValues): Error {
  const misfits = [...everySize, ...entries].flatMap((entry) => entry.misfit(values) ?? []);
  const texts = misfits.map(({ given, expected }) => [given, expected] as const);
  const different = [...new Map(texts.map((text) => [text.join(), text])).values()];
  const [first] = misfits;
  const ErrorType = errors[first?.kind ?? 'other'];
  return new ErrorType({
    what: `${name || 'the loaded program'}: no program was saved for these arguments`,
    given: [...new Set(different.map(([given]) => given))].join('; '),
    expected: different.map(([, expected]) => expected).join(', or '),
    remedy:
      'pass what it was saved for, or call the function with such arguments before it is saved',
  });
}

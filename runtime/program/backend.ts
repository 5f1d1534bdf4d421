import type { Device, Operand } from '../device/device.ts';
import type { Attrs } from '../device/kernel-op.ts';
import { ArgumentError } from '../errors/errors.ts';
import { expectArguments } from '../options/expect-options.ts';
import { that } from '../options/option-kinds.ts';
import type { Plan } from './plan.ts';
import type { Program, ValueId } from './program.ts';

/**
 * Runs planned programs in place of the executor's kernel calls: forward and backward programs, and the bodies of
 * branches, loops and calls. The framework manages memory, so bytes, in-place writes and donated inputs follow the
 * plan under any backend; `docs/backends.md` is the contract.
 */
export interface Backend {
  /** The name in errors and reports. */
  readonly name: string;
  /**
   * Whether `run` returns a promise. Such a backend runs the graphs of async functions. The device's kernels run
   * synchronous programs: branch and loop bodies, and backward.
   */
  readonly isAsync?: boolean;
  /**
   * Compiles `program`, whose op `i` is the op of `plan.steps[i]`; the parts of a fused op are in `kernel.body`.
   * `device` is the device of its first result. `isComputable` returns for each step whether `begin` returns true.
   */
  compile(
    program: Program,
    plan: Plan,
    device: Device,
    isComputable: readonly boolean[],
  ): CompiledProgram;
}

export interface CompiledProgram {
  /**
   * Executes every step once, in plan order: either `steps.kernel(i)`, or `steps.begin(i)`, its own computation
   * and `steps.end(i)`. Runs of one program may nest but never interleave. An exception ends the run.
   */
  run(steps: RunningSteps): void | Promise<void>;
  /** Called when the program won't run again. */
  dispose(): void;
}

/** Returns the backend if it runs programs synchronously; null for the device's kernels. */
export const synchronous = (backend: Backend | null): Backend | null =>
  backend?.isAsync ? null : backend;

/** One run as its backend sees it; valid until `run` returns or its promise settles. */
export interface RunningSteps {
  /** Executes the whole step with the device's kernel. */
  kernel(step: number): void;
  /**
   * Allocates the results of a step, which the backend then computes. Returns false if the framework has executed
   * the step itself, as for views, transfers, control ops and ops on optional gradients; `end` is then not called.
   */
  begin(step: number): boolean;
  /** Called once the results are computed: frees values whose last use is the step, and counts its in-place writes. */
  end(step: number): void;
  /**
   * The memory of the CPU device, which gives values their addresses. It may be replaced during `begin` or
   * `kernel` when the memory grows. Throws DeviceError on devices without addresses.
   */
  readonly buffer: ArrayBufferLike;
  /**
   * Returns the byte address of the first element of an operand or result of the current step, or of an existing
   * operand of a later step.
   */
  address(value: ValueId): number;
  /**
   * Returns the allocation of such a value and the index of its first element in it. With `keepRemote`, its bytes
   * may stay in the backend.
   */
  operand(value: ValueId): Operand;
  /** Returns the attributes of a step, with the numbers of this run. */
  attrs(step: number): Attrs;
}

const registered = new Map<string, Backend>();

const backendKinds = {
  backend: that('an object with a name and compile()', (value) => {
    const { name, compile } = (value ?? {}) as Partial<Backend>;
    return typeof name === 'string' && name !== '' && typeof compile === 'function';
  }),
};

/** Registers a backend by name: `toStatic(fn, { backend: 'mine' })`. Throws ArgumentError if the name is taken. */
export function registerBackend(backend: Backend): void {
  expectArguments('registerBackend', { backend }, backendKinds);
  const { name } = backend;
  if (reserved.includes(name) || (registered.has(name) && registered.get(name) !== backend)) {
    throw new ArgumentError({
      what: 'registerBackend: the name is taken',
      given: `'${name}'`,
      expected: `a name other than ${[...reserved, ...registered.keys()].join(', ')}`,
      remedy: 'choose another name',
    });
  }
  registered.set(name, backend);
}

/** Names for the device's kernels and for running the traced program op by op. */
const reserved: readonly string[] = ['wasm', 'interpret'];

/** Returns the backend with this name; null for the device's kernels. Throws ArgumentError if unknown. */
export function backendNamed(name: string): Backend | null {
  if (reserved.includes(name)) return null;
  const found = registered.get(name);
  if (found) return found;
  throw new ArgumentError({
    what: 'toStatic: no such backend',
    given: `'${name}'`,
    expected: [...reserved, ...registered.keys()].join(', '),
    remedy:
      name === 'onnxruntime'
        ? "import 'tostatic/onnxruntime' first, which registers it"
        : 'register it with registerBackend(), or pass the backend itself',
  });
}

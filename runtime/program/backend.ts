import type { Device, Operand } from '../device/device.ts';
import type { Attrs } from '../device/kernel-op.ts';
import { ArgumentError } from '../errors/errors.ts';
import type { Plan } from './plan.ts';
import type { Program, ValueId } from './program.ts';

/**
 * Runs planned programs in place of the executor's list of kernel calls: forward and backward programs, and those
 * inside of branches, loops and calls. Memory stays with the framework, so that bytes, writes in place and donated
 * inputs are as the plan says whatever a backend does; `docs/backends.md` is the contract.
 */
export interface Backend {
  /** For errors and reports. */
  readonly name: string;
  /**
   * `run` returns a promise. Such a backend serves async functions, each graph of which is awaited; what runs
   * synchronously is done by the kernels of the device: bodies of branches and loops, and programs of backward.
   */
  readonly isAsync?: boolean;
  /**
   * `program` is in the order of the plan, op `i` that of `plan.steps[i]`; fused ops have their parts in
   * `kernel.body`. `device` is where its first result lies. `isComputable`: per step whether `begin` returns true.
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
   * Does every step once, in the order of the plan: by `steps.kernel(i)`, or by `steps.begin(i)`, work of its own, and
   * `steps.end(i)`. Runs of one program may be nested, but never interleave. What it throws ends the run.
   */
  run(steps: RunningSteps): void | Promise<void>;
  /** The program will not run any more. */
  dispose(): void;
}

/** The backend where programs run synchronously; null: the kernels of the device. */
export const synchronous = (backend: Backend | null): Backend | null =>
  backend?.isAsync ? null : backend;

/** One run, as its backend sees it. Good until `run` returns, or its promise settles. */
export interface RunningSteps {
  /** The whole step, by the kernel of the device. */
  kernel(step: number): void;
  /**
   * Places the results of a step, which the backend then computes. False: the framework has done the step, as it does
   * views, transfers, control ops, and ops of gradients that may be missing; `end` is not called.
   */
  begin(step: number): boolean;
  /** After the results are there: what dies with the step leaves, and its writes in place are counted. */
  end(step: number): void;
  /**
   * Memory of the CPU device, in which values have addresses. It may be another object after `begin` or `kernel`, when
   * the memory has grown. Throws DeviceError where values have no addresses.
   */
  readonly buffer: ArrayBufferLike;
  /**
   * The address of the first element, in bytes: of an operand or result of the current step, or of an operand of a
   * later step that exists already.
   */
  address(value: ValueId): number;
  /** The allocation of such a value, and the number of its first element there: `keepElsewhere` leaves bytes with the backend. */
  operand(value: ValueId): Operand;
  /** The attributes of a step, with the numbers of this run. */
  attrs(step: number): Attrs;
}

const registered = new Map<string, Backend>();

/** Makes a backend known by its name: `toStatic(fn, { backend: 'mine' })`. Throws ArgumentError for a name that is taken. */
export function registerBackend(backend: Backend): void {
  const { name } = backend;
  if (reserved.includes(name) || (registered.has(name) && registered.get(name) !== backend)) {
    throw new ArgumentError({
      what: 'registerBackend: the name is taken',
      given: `'${name}'`,
      expected: `a name beside ${[...reserved, ...registered.keys()].join(', ')}`,
      remedy: 'give the backend a name of its own',
    });
  }
  registered.set(name, backend);
}

/** The kernels of the device, and the traced program op by op. */
const reserved: readonly string[] = ['wasm', 'interpret'];

/** The backend of a name; null: the kernels of the device. Throws ArgumentError for an unknown one. */
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

import { heap } from '../../device/cpu/core/heap.ts';
import type { Device, Operand } from '../../device/device.ts';
import type { Attrs } from '../../device/kernel-op.ts';
import { DeviceError } from '../../errors/errors.ts';
import { events } from '../../memory/events.ts';
import type { Backend, CompiledProgram, RunningSteps } from '../../program/backend.ts';
import type { Plan, Step } from '../../program/plan.ts';
import type { ValueId, ValueTable } from '../../program/program.ts';
import type { Action } from '../scope/action.ts';
import type { Scope, Slot } from '../scope/scope.ts';

/** A step that a backend may compute. */
export interface ComputableStep {
  /** Allocates the results and updates the attributes. */
  place(slots: readonly Slot[], scalars: Float64Array): void;
  /** Increments the versions of written operands. */
  finish(slots: readonly Slot[]): void;
  readonly attrs: Attrs;
}

/**
 * One step: the executor's action, and its parts around a backend's computation; null if a backend can't compute it.
 */
export interface StepActions {
  readonly step: Step;
  readonly run: Action;
  readonly computable: ComputableStep | null;
}

/** Disposes a backend's program when its executable is collected. */
const collected = new FinalizationRegistry<CompiledProgram>((program) => program.dispose());

/** A plan bound to a backend: executes every step once, in order; memory is allocated and freed here. */
export class BackendProgram implements RunningSteps {
  readonly #backend: Backend;
  readonly #device: Device;
  readonly #values: ValueTable;
  readonly #steps: readonly StepActions[];
  readonly #before: (step: number) => void;
  readonly #compiled: CompiledProgram;
  #slots: readonly Slot[] = [];
  #scalars: Float64Array = new Float64Array(0);
  /** The index of the next step, and whether it has begun. */
  #next = 0;
  #isOpen = false;

  /** `before` is the executor's work before a step. */
  constructor(
    backend: Backend,
    plan: Plan,
    values: ValueTable,
    steps: readonly StepActions[],
    before: (step: number) => void,
  ) {
    const ops = plan.steps.map(({ op }) => op);
    const { inputs, outputs } = plan;
    const [first] = ops.flatMap((op) => op.outputs);
    this.#backend = backend;
    this.#values = values;
    this.#steps = steps;
    this.#before = before;
    this.#device = values[first ?? inputs[0]!]!.device;
    const program = { values, inputs, ops, outputs };
    const isComputable = steps.map(({ computable }) => computable !== null);
    this.#compiled = backend.compile(program, plan, this.#device, isComputable);
    collected.register(this, this.#compiled);
  }

  runIn({ slots, scalars }: Pick<Scope, 'slots' | 'scalars'>): void {
    const outer = [this.#slots, this.#scalars, this.#next, this.#isOpen] as const;
    [this.#slots, this.#scalars, this.#next, this.#isOpen] = [slots, scalars, 0, false];
    try {
      this.#compiled.run(this);
      this.#expectEnd();
    } finally {
      [this.#slots, this.#scalars, this.#next, this.#isOpen] = outer;
    }
  }

  /** Runs the program on an asynchronous backend; runs are serialized. */
  async runAsync({ slots, scalars }: Pick<Scope, 'slots' | 'scalars'>): Promise<void> {
    [this.#slots, this.#scalars, this.#next, this.#isOpen] = [slots, scalars, 0, false];
    try {
      await this.#compiled.run(this);
      this.#expectEnd();
    } finally {
      [this.#slots, this.#scalars] = [[], new Float64Array(0)];
    }
  }

  #expectEnd(): void {
    if (!this.#isOpen && this.#next === this.#steps.length) return;
    throw this.#outOfOrder('run has returned', `step ${this.#next} of ${this.#steps.length}`);
  }

  kernel(step: number): void {
    const { run } = this.#expect('kernel', step);
    run(this.#slots, this.#scalars);
    this.#next++;
  }

  begin(step: number): boolean {
    const { computable, run, step: planned } = this.#expect('begin', step);
    if (!computable) {
      run(this.#slots, this.#scalars);
      this.#next++;
      return false;
    }
    events.op = planned.op.op.name;
    events.at = planned.op.at;
    computable.place(this.#slots, this.#scalars);
    this.#isOpen = true;
    return true;
  }

  end(step: number): void {
    if (!this.#isOpen || step !== this.#next) {
      throw this.#outOfOrder(`end(${step})`, this.#isOpen ? `end(${this.#next})` : 'begin first');
    }
    const { computable, step: planned } = this.#steps[step]!;
    computable!.finish(this.#slots);
    events.kernel(this.#device.name, planned.op.op.name);
    for (const id of planned.frees) this.#slots[id]!.release();
    this.#isOpen = false;
    this.#next++;
  }

  get buffer(): ArrayBufferLike {
    if (this.#device.kind === 'cpu') return heap.memory.buffer;
    throw new DeviceError({
      what: `the backend '${this.#backend.name}': values have no addresses`,
      given: `a program on ${this.#device.name}`,
      expected: 'a program on the CPU',
      remedy: 'do its steps by kernel(step)',
    });
  }

  address(value: ValueId): number {
    const { holder, offset } = this.#slots[value]!;
    const { device, dtype } = this.#values[value]!;
    return (holder?.ptr ?? 0) + offset * device.elementBytes(dtype);
  }

  operand(value: ValueId): Operand {
    return this.#slots[value]!;
  }

  attrs(step: number): Attrs {
    const { computable, step: planned } = this.#steps[step]!;
    return computable?.attrs ?? planned.op.attrs;
  }

  #expect(call: string, step: number): StepActions {
    if (this.#isOpen || step !== this.#next) {
      const expected = this.#isOpen ? `end(${this.#next})` : `step ${this.#next}`;
      throw this.#outOfOrder(`${call}(${step})`, expected);
    }
    this.#before(step);
    return this.#steps[step]!;
  }

  #outOfOrder(given: string, expected: string): DeviceError {
    return new DeviceError({
      what: `the backend '${this.#backend.name}' left the order of the plan`,
      given,
      expected,
      remedy: 'do every step once, in the order of the plan',
    });
  }
}

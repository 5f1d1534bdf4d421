import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { Code } from '../../vm/bytecode/code.ts';
import type { Pc, Reg } from '../../vm/bytecode/instructions.ts';
import { liveBefore } from '../../vm/bytecode/liveness.ts';
import type { Location } from '../state/location.ts';
import type { RegionBuilder } from '../state/region-builder.ts';
import type { Tracer } from '../state/tracer.ts';
import type { TraceFrame } from '../variables/trace-frame.ts';
import type { Variable } from '../variables/variable.ts';
import { leaveCheckpoints } from './awaited-checkpoints.ts';
import { freezer } from './locations/freeze.ts';
import { reachedFrom } from './locations/reachable.ts';
import { type State, stateOf } from './locations/snapshot.ts';
import { endAt, endWith, type PathEnd, type Target } from './plans/path.ts';

/** Traces a path to its end, into the current region. */
export type Start = () => PathEnd;

/** The result of tracing one path. */
export interface TracedBranch {
  readonly region: RegionBuilder;
  readonly end: PathEnd;
  readonly state: State;
  /** Tensors that the path disposes. */
  readonly disposed: ReadonlySet<Tensor>;
}

/** Starts a path of a branch at `pc`. `before` records the facts that hold on it. */
export function startAt(
  t: Tracer,
  frame: TraceFrame,
  pc: Pc,
  stops: ReadonlySet<Pc>,
  before?: () => void,
): Start {
  return () => {
    before?.();
    if (stops.has(pc)) return endAt(pc);
    frame.pc = pc;
    return t.execution.runPath(t.frames.length, stops);
  };
}

export const startWith =
  (value: Variable): Start =>
  () =>
    endWith(value);

/** Traces a path into a region, and rolls back its effects on the trace. Only its result remains. */
export function traceBranch(
  t: Tracer,
  frame: TraceFrame,
  region: RegionBuilder,
  existing: ReadonlySet<Variable>,
  start: Start,
): TracedBranch {
  // A path that is traced to the end of the function pops the frames above.
  const depth = t.frames.indexOf(frame);
  const frames = t.frames.slice(depth).map((each) => ({
    popped: each,
    registers: [...each.registers],
    pc: each.pc,
  }));
  const { pc } = frame;
  try {
    return t.control.paths.count(t, frame, pc, () =>
      t.speculate(region, () => {
        const end = start();
        leaveCheckpoints(t, region, frame, end, existing);
        const freeze = freezer(existing);
        const value = end.value && freeze(end.value);
        const disposed = new Set(t.effects.disposed.keys());
        return {
          region,
          end: { ...end, value },
          state: stateOf(t, frame, existing, freeze),
          disposed,
        };
      }),
    );
  } finally {
    t.frames.length = depth;
    for (const { popped, registers, pc } of frames) {
      popped.registers.splice(0, popped.registers.length, ...registers);
      popped.pc = pc;
      t.frames.push(popped);
    }
  }
}

/** Returns whether the location is live where the path continues. */
export function isRead(
  t: Tracer,
  frame: TraceFrame,
  { targets, value }: Pick<PathEnd, 'targets' | 'value'>,
  location: Location,
): boolean {
  const { code } = frame.closure;
  if (location.register !== null) return isReadAt(code, targets, location.register);
  const { iteration } = location;
  if (!iteration) return true;
  const isInRegister = frame.registers.some((held, register) => {
    const isIt =
      held === iteration || (held?.kind === 'iteratorRecord' && held.iterator === iteration);
    return isIt && isReadAt(code, targets, register as Reg);
  });
  if (isInRegister || iteration.kind === 'iteratorRecord') return isInRegister;
  // User code may reach the value in other ways: through an object, a closure or a caller.
  const pcs = targets.filter((target) => target !== 'return');
  return reachedFrom(t, frame, pcs, value).found.has(iteration);
}

/** Returns whether the register is live at one of the instructions where the path continues. */
function isReadAt(code: Code, targets: readonly Target[], register: Reg): boolean {
  const live = liveBefore(code);
  return targets.some((target) => target !== 'return' && live[target]!.has(register));
}

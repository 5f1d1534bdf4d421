import { GraphBreak } from '../../../traces/graph-break.ts';
import type { Reg } from '../../../vm/bytecode/instructions.ts';
import { countRows, visitRows } from '../../builtins/lists/visit-rows.ts';
import { decide } from '../../control-flow/decide.ts';
import { keepLoopOfOpenSize } from '../../control-flow/loops/open-size-loops.ts';
import { type Condition, missingOf, truthOf } from '../../control-flow/merge/union-operators.ts';
import { goToHandler } from '../../state/exceptions.ts';
import { isFrameworkFile } from '../../state/framework-files.ts';
import type { Tracer } from '../../state/tracer.ts';
import { advance, closeIteration, openIteration, skip } from '../../values/iterators.ts';
import { openKeyIteration } from '../../values/objects/key-iteration.ts';
import type { TraceFrame } from '../../variables/trace-frame.ts';
import type { TensorVariable } from '../../variables/variable.ts';
import { get, type Handlers, set } from './handler.ts';

/** Jumps and iteration. The tracer loop itself executes `return`; an uncaught `throw` happens natively. */
export const controlHandlers: Handlers<
  | 'jump'
  | 'jumpIf'
  | 'jumpIfNot'
  | 'jumpIfNullish'
  | 'jumpIfNotUndefined'
  | 'throw'
  | 'getIterator'
  | 'getKeyIterator'
  | 'iteratorNext'
  | 'iteratorSkip'
  | 'iteratorClose'
  | 'await'
  | 'yield'
  | 'generatorStart'
> = {
  jump: (_t, _frame, { target }) => target,
  jumpIf: (t, frame, { test, target }) => {
    keepLoopOfOpenSize(t, frame, get(frame, test), target, frame.pc + 1);
    const end = countRows(t, frame, test, target, frame.pc + 1);
    if (end !== undefined) return end;
    const truth = testOf(t, frame, test);
    if (typeof truth !== 'boolean') return decide(t, frame, truth, target, frame.pc + 1);
    return truth ? target : undefined;
  },
  jumpIfNot: (t, frame, { test, target }) => {
    keepLoopOfOpenSize(t, frame, get(frame, test), frame.pc + 1, target);
    const end = countRows(t, frame, test, frame.pc + 1, target);
    if (end !== undefined) return end;
    const truth = testOf(t, frame, test);
    if (typeof truth !== 'boolean') return decide(t, frame, truth, frame.pc + 1, target);
    return truth ? undefined : target;
  },
  jumpIfNullish: (t, frame, { test, target }) => {
    const missing = missingOf(t, get(frame, test), true);
    if (typeof missing !== 'boolean') return decide(t, frame, missing, target, frame.pc + 1);
    return missing ? target : undefined;
  },
  jumpIfNotUndefined: (t, frame, { test, target }) => {
    const missing = missingOf(t, get(frame, test), false);
    if (typeof missing !== 'boolean') return decide(t, frame, missing, frame.pc + 1, target);
    return missing ? undefined : target;
  },
  await: () => {
    throw new GraphBreak('await', 'the function waits here');
  },
  yield: () => breakAtDelegate(),
  generatorStart: () => breakAtDelegate(),
  throw: (t, frame, { src }) => goToHandler(t, get(frame, src)),

  getIterator: (t, frame, { dst, iterable }) =>
    set(frame, dst, openIteration(t, get(frame, iterable))),
  getKeyIterator: (t, frame, { dst, object }) =>
    set(frame, dst, openKeyIteration(t, get(frame, object))),
  iteratorNext: (t, frame, instruction) => {
    const { dst, iterator, done } = instruction;
    const iteration = get(frame, iterator);
    if (iteration.kind !== 'iteratorRecord') {
      // The iterator's position differs between iterations: it is stepped natively, so that no entry depends on
      // it.
      const reason = t.builder.opCount === 0 ? 'host-value' : 'loop-iteration';
      throw new GraphBreak(reason, 'a loop that began before the last break continues');
    }
    const end = visitRows(t, frame, instruction);
    if (end !== undefined) return end;
    const element = advance(t, iteration);
    if (element === null) return done;
    set(frame, dst, element);
    return undefined;
  },
  iteratorSkip: (t, frame, { iterator }) => {
    const iteration = get(frame, iterator);
    if (iteration.kind !== 'iteratorRecord') {
      throw new GraphBreak(
        'loop-iteration',
        'an iterator that was created before the last break continues',
      );
    }
    skip(t, iteration);
  },
  iteratorClose: (t, frame, { iterator }) => {
    const iteration = get(frame, iterator);
    if (iteration.kind !== 'iteratorRecord') {
      throw new GraphBreak('loop-iteration', 'an iterator that was made before is closed');
    }
    closeIteration(t, iteration);
  },
};

function testOf(t: Tracer, frame: TraceFrame, test: Reg): Condition {
  const variable = get(frame, test);
  if (variable.kind === 'tensor') {
    t.control.tensorConditions.note(frame);
    noteComparison(t, frame, variable);
  }
  return truthOf(t, variable);
}

/** Skips the package's own code: it tests masks for presence, even those computed by a comparison. */
export function noteComparison(t: Tracer, frame: TraceFrame, tested: TensorVariable): void {
  if (isFrameworkFile(frame.closure.code.source.file)) return;
  t.control.tensorConditions.noteComparison(frame, tested);
}

/** The tracer loop executes the others itself, like `return`. */
function breakAtDelegate(): never {
  throw new GraphBreak('unsupported-value', 'a generator delegates to another one');
}

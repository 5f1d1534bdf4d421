import type { UserPosition } from '../../../runtime/errors/position.ts';
import type { ProgramBuilder } from '../../../runtime/program/builder.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { type BreakRecord, GraphBreak } from '../../traces/graph-break.ts';
import type { Instruction, Opcode, Pc } from '../../vm/bytecode/instructions.ts';
import type { Loop } from '../../vm/bytecode/structure.ts';
import { followOptions, settle } from '../control-flow/decide.ts';
import { Grows } from '../control-flow/lists/growable-array.ts';
import { convertOrUnroll, loopToConvert } from '../control-flow/loops/loop.ts';
import { endAt, endWith, type PathEnd } from '../control-flow/plans/path.ts';
import { goToHandler, isProtected, orThrow, Raised } from '../state/exceptions.ts';
import type { Execution } from '../state/execution.ts';
import { isFrameworkFile } from '../state/framework-files.ts';
import { isAround } from '../state/region-builder.ts';
import type { Tracer } from '../state/tracer.ts';
import { startGenerator } from '../values/generators.ts';
import type { TraceFrame } from '../variables/trace-frame.ts';
import { UnionMet } from '../variables/unions.ts';
import type { Variable } from '../variables/variable.ts';
import { callInside } from './calls/invoke.ts';
import { chooseNumbers } from './choose-numbers.ts';
import { stepDelegate } from './delegates.ts';
import { callHandlers } from './handlers/calls.ts';
import { controlHandlers } from './handlers/control.ts';
import { get, type Handler, type Handlers, set } from './handlers/handler.ts';
import { intrinsicHandlers } from './handlers/intrinsics.ts';
import { objectHandlers } from './handlers/objects.ts';
import { operatorHandlers } from './handlers/operators.ts';
import { valueHandlers } from './handlers/values.ts';

/** One handler per opcode; a missing one fails to compile. */
const handlers: Handlers<Exclude<Opcode, 'return'>> = {
  ...valueHandlers,
  ...operatorHandlers,
  ...objectHandlers,
  ...controlHandlers,
  ...callHandlers,
  ...intrinsicHandlers,
};

type End =
  | { readonly kind: 'return'; readonly value: Variable }
  | {
      readonly kind: 'break';
      readonly record: BreakRecord;
      readonly cause: unknown;
      readonly onlyThrows: boolean;
    };

/** The tracer's functions for continuing from inside an instruction. The ops with regions are passed in. */
export function executionOf(
  tracer: Tracer,
  append: Pick<Execution, 'appendControl' | 'appendCall' | 'appendResizable'>,
): Execution {
  return {
    callInside: (callee, receiver, args, gradMode) =>
      callInside(tracer, callee, receiver, args, gradMode ?? null),
    toReturn: (begin) => toReturn(tracer, begin),
    runPath: (depth, stops) => tracer.nested(() => runPath(tracer, depth, stops, false)),
    runFrom: (depth, stops) => tracer.nested(() => runPath(tracer, depth, stops, true)),
    runLoopBody: (frame, loop, from) => runLoopBody(tracer, frame, loop, from),
    runLoopHead: (frame, loop) => runLoopHead(tracer, frame, loop),
    ...append,
  };
}

/** Executes the frames until the outermost one returns or the graph ends. */
export function execute(tracer: Tracer): End {
  try {
    return { kind: 'return', value: runAbove(tracer, 0) };
  } catch (thrown) {
    const error = thrown instanceof Grows ? thrown.asBreak() : thrown;
    if (!(error instanceof GraphBreak)) throw error;
    const { reason, detail, at = tracer.position() } = error;
    const record = { reason, detail, at, line: at && tracer.lineAt(at) };
    const { plans, listsGrow } = tracer.control;
    if (listsGrow && plans.usesLists && reason !== 'throw') plans.leaveLists(record);
    if (plans.withoutLists) {
      return { kind: 'break', record: plans.withoutLists, cause: undefined, onlyThrows: false };
    }
    const onlyThrows = error.isCertain ?? (reason === 'throw' && !isProtected(tracer));
    return { kind: 'break', record, cause: error.cause, onlyThrows };
  }
}

const isCall = ({ op }: Instruction): boolean =>
  op === 'call' || op === 'construct' || op === 'callSpread' || op === 'constructSpread';

/** Executes one instruction of the top frame. Returns a value if the instruction returns or yields. */
function step(tracer: Tracer): { readonly value: Variable } | undefined {
  tracer.tick();
  const frame = tracer.top;
  tracer.onInstruction?.(frame.closure.code, frame.pc);
  const { code } = frame.closure;
  const instruction = code.instructions[frame.pc]!;
  if (instruction.op === 'return') return { value: get(frame, instruction.src) };
  if (isCall(instruction)) tracer.sites.noteCall(code, frame.pc);
  if (instruction.op === 'generatorStart') return { value: startGenerator(tracer, frame) };
  if (instruction.op === 'yield') {
    const isCaptured = tracer.frames.length === 1;
    if (isCaptured) throw new GraphBreak('yield', 'the generator yields a value');
    if (instruction.mode === 'yield') return { value: get(frame, instruction.src) };
    if (instruction.mode === 'delegate') {
      const value = stepDelegate(tracer, frame, instruction);
      return value && { value };
    }
  }
  const { pc } = frame;
  const loop = loopToConvert(tracer, frame);
  const isJump = instruction.op === 'jumpIf' || instruction.op === 'jumpIfNot';
  const chosen = isJump && !loop ? chooseNumbers(tracer, frame, instruction) : undefined;
  if (chosen !== undefined) {
    frame.pc = chosen;
  } else if (loop) {
    frame.pc = tracer.attempt(() => settle(tracer, frame, convertOrUnroll(tracer, frame, loop)));
  } else {
    frame.pc = perform(tracer, frame, instruction as Instruction);
  }
  frame.last = pc;
  const { returning } = tracer.control;
  if (!returning) return undefined;
  tracer.control.returning = null;
  return { value: returning };
}

/**
 * Executes an instruction and returns the next pc. If the instruction needs a union's option, every option is
 * traced.
 */
function perform(tracer: Tracer, frame: TraceFrame, instruction: Instruction): Pc {
  const handler = handlers[instruction.op as Exclude<Opcode, 'return'>] as Handler<Opcode>;
  try {
    return handler(tracer, frame, instruction) ?? frame.pc + 1;
  } catch (error) {
    if (error instanceof Raised) return goToHandler(tracer, error.thrown);
    if (error instanceof GraphBreak) throw orThrow(tracer, error);
    if (!(error instanceof UnionMet)) throw error;
    const { union } = error;
    if (!isValue(tracer, union.selector.which.tensor)) {
      throw new GraphBreak(
        'unsupported-value',
        'what a call inside the operation returns is data-dependent in kind',
      );
    }
    return followOptions(tracer, frame, union);
  }
}

/** Whether the tensor is still a value: the instruction may have created it in calls that were rolled back. */
function isValue({ surroundings }: Tracer, tensor: Tensor): boolean {
  const { builder, value } = tensor.traced!;
  return isAround(surroundings, tensor) && value < (builder as ProgramBuilder).nextValue;
}

/** Pops the top frame and stores its result in the caller's register. */
function popFrame(tracer: Tracer, value: Variable): void {
  const { returnTo } = tracer.frames.pop()!;
  if (returnTo !== undefined) set(tracer.top, returnTo, value);
}

function toReturn(tracer: Tracer, begin: () => Variable | undefined): Variable {
  const caller = tracer.top;
  const depth = tracer.frames.length;
  tracer.floor = depth;
  const result = begin();
  if (result) return result;
  // The caller is positioned after its instruction, like waiting frames.
  caller.pc++;
  const value = tracer.nested(() => runAbove(tracer, depth));
  caller.pc--;
  return value;
}

/**
 * Runs until the frame at index `depth` returns. The outermost frame stays on the stack because it has no caller.
 */
function runAbove(tracer: Tracer, depth: number): Variable {
  for (;;) {
    const returned = step(tracer);
    if (!returned) continue;
    const { value } = returned;
    if (tracer.frames.length === 1) return value;
    if (tracer.frames.length === depth + 1) {
      tracer.frames.pop();
      return value;
    }
    popFrame(tracer, value);
  }
}

/**
 * Runs until the frame at `depth` returns or reaches a stop, and leaves the frame on the stack. With `entering`,
 * the current instruction is not a stop.
 */
function runPath(
  tracer: Tracer,
  depth: number,
  stops: ReadonlySet<Pc>,
  entering: boolean,
): PathEnd {
  const { control } = tracer;
  return control.inPath(tracer.frames[depth - 1]!, stops, () => {
    // For `cond` and similar functions: the position where the user's function returned their result.
    let returnPosition: UserPosition | undefined;
    const isOurs = isFrameworkFile(tracer.top.closure.code.source.file);
    for (let first = entering; ; first = false) {
      const frame = tracer.top;
      const below = tracer.frames.length === depth;
      if (below && !first && stops.has(frame.pc)) {
        return endAt(frame.pc, returnPosition ?? tracer.position(), frame.last ?? undefined);
      }
      if (below) expectNoYield(frame);
      const returned = step(tracer);
      if (control.ended) {
        const { ended } = control;
        control.ended = null;
        return ended;
      }
      if (!returned) continue;
      if (below) return endWith(returned.value, returnPosition ?? tracer.position());
      if (isOurs && tracer.frames.length === depth + 1) returnPosition = tracer.position();
      popFrame(tracer, returned.value);
    }
  });
}

/** A generator must continue at a known pc: no path of a decision may leave it suspended. */
function expectNoYield({ closure, pc }: TraceFrame): void {
  if (closure.code.instructions[pc]!.op !== 'yield') return;
  throw new GraphBreak(
    'unsupported-value',
    'a decision inside a generator leads to a yield on one of its paths',
  );
}

function runLoopBody(tracer: Tracer, frame: TraceFrame, loop: Loop, from: Pc): PathEnd {
  const stops = new Set([loop.header, ...loop.exits]);
  const depth = tracer.frames.length;
  frame.pc = from;
  return tracer.nested(() =>
    tracer.control.inLoop(frame, loop, () => runPath(tracer, depth, stops, from === loop.header)),
  );
}

function runLoopHead(tracer: Tracer, frame: TraceFrame, loop: Loop): PathEnd {
  const stops = new Set([loop.header, ...loop.exits]);
  const depth = tracer.frames.length;
  return tracer.nested(() =>
    tracer.control.inHead(frame, loop, () => runPath(tracer, depth, stops, true)),
  );
}

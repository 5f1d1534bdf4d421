/**
 * Why a graph ends before its function does. Each reason is a record; a break says which one, about
 * what, and where.
 */

import type { UserPosition } from '../../runtime/errors/position.ts';

interface Explained {
  readonly explanation: string;
  /** What can stand there instead; code that stays in the program when left out. */
  readonly expected?: string;
  readonly hint: string;
  /** The hint where the function is to be one program, when that is another one. */
  readonly forOneProgram?: string;
  /** Something on a value of the program is decided there: what `explain()` lists as a decision. */
  readonly decision?: true;
  /** Not the user's doing: it could be traced, and isn't yet. */
  readonly limitation?: true;
}

export const breakReasons = {
  'data-read': {
    explanation: 'The values of a tensor are read, so everything before must have run.',
    hint: 'Keep the computation in tensor ops, or read the value after the captured function.',
  },
  'native-call': {
    explanation: 'A function without source is called that is not known to be free of effects.',
    hint: 'Move the call out of the captured function, or to its end.',
  },
  'not-captured': {
    explanation: 'The source or the scope of the called function could not be had.',
    hint: 'See the refusal that goes with it; pass `scope`, or call it outside.',
  },
  'framework-call': {
    explanation: 'A function of tostatic that acts on more than its arguments is called.',
    hint: 'Call it outside the captured function.',
    limitation: true,
  },
  constructor: {
    explanation: 'An object is made by a constructor that is not followed.',
    hint: 'See the reason that goes with it; or make the object outside the captured function.',
    limitation: true,
  },
  'in-place': {
    explanation: 'A tensor is written in place where gradients are recorded.',
    hint: 'Use the form without underscore.',
    limitation: true,
  },
  'op-error': {
    explanation: 'An op refuses its operands; eager execution raises the error where it belongs.',
    hint: 'See the error.',
  },
  'object-write': {
    explanation: 'An object that existed before the call is changed.',
    hint: 'Return the new value and let the caller store it.',
    limitation: true,
  },
  'variable-write': {
    explanation:
      'A variable around the function is assigned, and whether others see it as well is not known.',
    hint: 'Return the new value and let the caller assign it.',
    limitation: true,
  },
  getter: {
    explanation: 'Reading the property runs a getter or a Proxy trap.',
    hint: 'Store the value in a plain property.',
  },
  'unsupported-value': {
    explanation: 'The operation is not traced for a value of this kind.',
    hint: 'Do it before or after the captured function.',
    limitation: true,
  },
  'unsupported-iterable': {
    explanation: 'The value is iterated in a way that is not followed.',
    hint: 'Spread it into an array first: for (const x of [...values]).',
    limitation: true,
  },
  'different-ways': {
    explanation:
      'The ways of a decision, or the turns of a loop, leave what one value can not stand for.',
    expected: 'one structure on all ways, with equal dtypes and shapes; null where nothing is',
    hint: 'Return the same structure on both ways: reshape or pad tensors, and convert them with to().',
    decision: true,
  },
  'gradient-of-ways': {
    explanation:
      'Only a run of the program knows whether there is a gradient, or whether its graph is used up.',
    expected: 'gradients that all ways bring, of graphs that no way or all ways have used up',
    hint: 'Read the tensor on every way, retain the graph, or call backward() outside the captured function.',
    decision: true,
  },
  'state-of-ways': {
    explanation:
      'A branch or loop changes something that existed before in a way that only the host can.',
    expected: 'tensors, variables, elements, fields and entries that change their value on the way',
    hint: 'Do it before or after the branch or loop; or fill a list of your own inside, and copy it afterwards.',
    decision: true,
  },
  'number-needed': {
    explanation: 'The host would have to know a number that only a run of the program knows.',
    expected: 'a size, an argument or a constant; or a decision or operator on the number',
    hint: 'Read the number before the captured function and hand it in, or after it.',
    decision: true,
  },
  'number-as-text': {
    explanation:
      'Text that holds a number of the program is made after the run, and is asked inside.',
    expected: 'text for console.log, for an error or for the result',
    hint: 'Compare the number instead of its text; or make the text after the captured function.',
    decision: true,
  },
  'list-of-turns': {
    explanation: 'An array whose length only a run knows is used in a way that is not followed.',
    expected:
      'elements of one form, of tensors, numbers, truth values, arrays and objects; methods that need no text; stack(), cat() and their like',
    hint: 'Read it after the captured function; bound the loop by a number of the host: n < 8 && …; put a new object in the place of one that changes: list[i] = { ...list[i], … }.',
    decision: true,
  },
  'shape-of-run': {
    explanation: 'A tensor whose shape only a run knows is used in a way that is not followed.',
    expected:
      'functions that write nothing in place and answer the same number of tensors for every shape',
    hint: 'Reduce it to a known shape before, or do it after the captured function.',
    decision: true,
  },
  'endless-ways': {
    explanation:
      'Turns or calls whose end only a run knows are followed one by one, and come to no end.',
    expected: 'turns that leave what they find: the same structure, dtypes and shapes',
    hint: 'Make the turns alike; or bound them by a number of the host: depth < 8 && ….',
    decision: true,
  },
  'too-many-paths': {
    explanation:
      'Decisions multiply: each path of one meets the others anew, so a trace would follow too many paths.',
    expected: 'paths that come together alike before the next decision',
    hint: 'Leave one value on all paths (numbers and tensors instead of different objects); keep indices in tensors (argsort, gather, where); read the values before the captured function; or raise pathLimit.',
    decision: true,
  },
  'loop-turn': {
    explanation:
      'A loop that was under way at the last break goes on: its next turn is a graph anew.',
    hint: 'None needed: every turn takes the same entry.',
  },
  throw: {
    explanation: 'An exception leaves the captured function.',
    hint: 'None needed: it is thrown where eager execution throws it.',
  },
  await: {
    explanation: 'The function waits for a promise.',
    hint: 'None needed: the graph after it is traced when the promise is settled.',
    forOneProgram: 'Capture the functions between the awaits; read numbers with itemSync().',
  },
  yield: {
    explanation: 'A captured generator hands out a value, and whoever asked for it goes on.',
    hint: 'None needed: the graph after it is traced when the next value is asked for.',
    forOneProgram: 'Capture what is done between two values, or collect the values in an array.',
  },
  'call-depth': {
    explanation: 'Calls are nested deeper than a trace follows.',
    hint: 'Turn the recursion into a loop.',
  },
  'trace-length': {
    explanation: 'The trace grew longer than the option traceLimit allows.',
    hint: 'Capture the body of the loop instead of the loop, or raise traceLimit.',
  },
  'host-value': {
    explanation:
      'A number that changes from run to run is computed on; that happens outside graphs.',
    hint: 'None needed: it costs no graph.',
    limitation: true,
  },
  'not-to-static': {
    explanation: 'The called function is marked with notToStatic().',
    hint: 'Remove the mark.',
  },
  'ignored-module': {
    explanation: 'The called function is in a module that ignoreModule() leaves alone.',
    hint: 'Leave that module out of ignoreModule().',
  },
  forced: {
    explanation: 'breakGraph() was called.',
    hint: 'Remove the call.',
  },
} as const satisfies Record<string, Explained>;

/** Whether something on a value of the program is decided where the graph ends. */
export function isDecision(reason: BreakReason): boolean {
  return 'decision' in breakReasons[reason];
}

/** For a person: what can stand there. */
export function expectedInstead(reason: BreakReason): string {
  const { expected = 'code that stays in the program' }: Explained = breakReasons[reason];
  return expected;
}

/** What to do where the function is to be one program. */
export function hintForOneProgram(reason: BreakReason): string {
  const { hint, forOneProgram = hint }: Explained = breakReasons[reason];
  return forOneProgram;
}

/** For a person: whether it is the code or this version that stands in the way. */
export function isLimitation(reason: BreakReason): boolean {
  return 'limitation' in breakReasons[reason];
}

export type BreakReason = keyof typeof breakReasons;

/** One break, as it is recorded and explained. */
export interface BreakRecord {
  readonly reason: BreakReason;
  /** What in particular: the function, the property, the message. */
  readonly detail: string;
  readonly at: UserPosition | undefined;
  /** The line of the user's file there, where it can be had. */
  readonly line?: string | undefined;
}

/** Thrown by a handler to end the graph before its instruction; never leaves the tracer. */
export class GraphBreak extends Error {
  override readonly name = 'GraphBreak';
  readonly reason: BreakReason;
  readonly detail: string;
  /** Where, when that is not the instruction at which the graph ends. */
  at: UserPosition | undefined;
  /**
   * Of a throw: whatever the run decides from where the graph ends, an exception leaves the captured function. Null:
   * nothing has been decided on the way to it.
   */
  isCertain: boolean | null = null;

  /** `cause`: the error that eager execution would throw here. */
  constructor(reason: BreakReason, detail: string, cause?: unknown) {
    super(`${reason}: ${detail}`, { cause });
    this.reason = reason;
    this.detail = detail;
  }
}

/** Reasons why a graph ends before its function does. A break records its reason, its subject and its position. */

import type { UserPosition } from '../../runtime/errors/position.ts';

interface Explained {
  readonly explanation: string;
  /** The code to write instead; by default, code that becomes part of the program. */
  readonly expected?: string;
  readonly hint: string;
  /** The hint in full-graph mode, if it differs. */
  readonly forOneProgram?: string;
  /** Whether the code makes a decision on a graph value: `explain()` lists it as a decision. */
  readonly decision?: true;
  /** Whether the reason is a limitation of this version rather than the code. */
  readonly limitation?: true;
}

export const breakReasons = {
  'data-read': {
    explanation: 'The values of a tensor are read, so everything before it must have run.',
    hint: "Keep the computation in tensor ops, or read the value after the captured function. With fullGraph or capture: 'auto', itemSync() stays in the program.",
    forOneProgram:
      'Use itemSync(), which stays in the program, or read the value after the captured function.',
  },
  'data-size': {
    explanation:
      'The size of a result depends on the values of a tensor, so everything before it must have run.',
    expected: 'results whose sizes follow from sizes and from numbers of the program',
    hint: "Use where() with a mask in place of a selection. With fullGraph, or capture: 'auto' if no other break remains, such sizes stay in the program.",
    forOneProgram:
      'Use where() in place of a selection, or read the values after the captured function.',
    decision: true,
  },
  'native-call': {
    explanation: 'A function without source is called, and it may have effects.',
    hint: 'Move the call out of the captured function, or to its end.',
  },
  'not-captured': {
    explanation: 'The source or the scope of the called function is not available.',
    hint: 'See the reason given with it; pass `scope`, or call the function outside.',
  },
  'framework-call': {
    explanation: 'A function of tostatic that acts on more than its arguments is called.',
    hint: 'Call it outside the captured function.',
    limitation: true,
  },
  constructor: {
    explanation: 'An object is made by a constructor that cannot be traced.',
    hint: 'See the reason given with it, or make the object outside the captured function.',
    limitation: true,
  },
  'in-place': {
    explanation: 'A tensor is written in place where gradients are recorded.',
    hint: 'Use the form without underscore.',
    limitation: true,
  },
  'op-error': {
    explanation: 'An op rejects its operands; eager execution throws the error at that op.',
    hint: 'See the error.',
  },
  'object-write': {
    explanation: 'An object that existed before the call is changed.',
    hint: 'Return the new value and let the caller store it.',
    limitation: true,
  },
  'variable-write': {
    explanation:
      'An outer variable is assigned, and other functions may see it through another scope.',
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
    explanation: 'This iteration of the value cannot be traced.',
    hint: 'Spread it into an array first: for (const x of [...values]).',
    limitation: true,
  },
  'branch-mismatch': {
    explanation: 'Branches or iterations produce values that cannot be merged.',
    expected: 'objects that all paths share in the same places, and arrays without holes',
    hint: 'Make the same objects and arrays on every path, and share none of them on one path only.',
    decision: true,
  },
  'branch-gradient': {
    explanation:
      'Whether a gradient exists, or whether its graph has been freed, is data-dependent.',
    expected: 'gradients that exist on all paths, of graphs that all paths have freed or none has',
    hint: 'Read the tensor on every path, retain the graph, or call backward() outside the captured function.',
    decision: true,
  },
  'branch-effect': {
    explanation:
      'A branch or loop makes a change to a pre-existing object that the program cannot make.',
    expected: 'new values for tensors, variables, elements, fields and entries',
    hint: 'Do it before or after the branch or loop; or fill a new list inside, and copy it afterwards.',
    decision: true,
  },
  'number-needed': {
    explanation: 'JavaScript needs a number that is data-dependent.',
    expected: 'a size, an argument or a constant; or a decision or operator on the number',
    hint: 'Read the number before the captured function and pass it in, or read it afterwards.',
    decision: true,
  },
  'number-as-text': {
    explanation:
      'Text that contains a data-dependent number exists only after the run, and is read before.',
    expected: 'text for console.log, for an error or for the result',
    hint: 'Compare the number instead of its text; or make the text after the captured function.',
    decision: true,
  },
  'unbacked-list': {
    explanation: 'This use of an array of data-dependent length cannot be traced.',
    expected:
      'elements of one structure: tensors, numbers, booleans, arrays and objects; methods that need no text; stack(), cat() and similar functions',
    hint: 'Read it after the captured function; bound the loop by a JavaScript number: n < 8 && …; replace an object that changes by a new one: list[i] = { ...list[i], … }.',
    decision: true,
  },
  'unbacked-shape': {
    explanation: 'This use of a tensor of data-dependent shape cannot be traced.',
    expected:
      'functions that write nothing in place and return the same number of tensors for every shape',
    hint: 'Reduce it to a known shape before, or do it after the captured function.',
    decision: true,
  },
  'unbounded-loop': {
    explanation:
      'Iterations or calls whose number is data-dependent were unrolled up to the limit.',
    expected: 'iterations that keep the structure, dtypes and shapes of what they change',
    hint: 'Keep structure, dtypes and shapes the same in all iterations, or bound them by a JavaScript number: depth < 8 && ….',
    decision: true,
  },
  'too-many-paths': {
    explanation:
      'Decisions multiply: each path of one decision reaches the next again, so there are too many paths to trace.',
    expected: 'paths that merge before the next decision',
    hint: 'Produce one value on all paths (numbers and tensors instead of different objects); keep indices in tensors (argsort, gather, where); read the values before the captured function; or raise pathLimit.',
    decision: true,
  },
  'loop-iteration': {
    explanation:
      'A loop continues after a graph break inside it: its next iteration begins a new graph.',
    hint: 'None needed: all iterations reuse one entry.',
  },
  throw: {
    explanation: 'An exception leaves the captured function.',
    hint: 'None needed: it is thrown where eager execution throws it.',
  },
  await: {
    explanation: 'The function waits for a promise.',
    hint: 'None needed: tracing continues once the promise is settled.',
    forOneProgram: 'Capture the functions between the awaits; read numbers with itemSync().',
  },
  yield: {
    explanation: 'A captured generator yields a value to its caller.',
    hint: 'None needed: tracing continues when the caller asks for the next value.',
    forOneProgram: 'Capture what is done between two values, or collect the values in an array.',
  },
  'call-depth': {
    explanation: 'Calls are nested too deeply to trace.',
    hint: 'Turn the recursion into a loop.',
  },
  'trace-length': {
    explanation: 'The trace grew longer than the option traceLimit allows.',
    hint: 'Capture the body of the loop instead of the loop, or raise traceLimit.',
  },
  'host-value': {
    explanation: 'Arithmetic on a number that changes from call to call runs outside graphs.',
    hint: 'None needed: it costs no graph.',
    limitation: true,
  },
  'changing-call': {
    explanation:
      'A number of Math.random() or the clock decides what JavaScript does, or the clock is read between two ops.',
    hint: 'Decide by a tensor (rand, where), or outside; read the clock before the first op or after the last one.',
  },
  'not-to-static': {
    explanation: 'The called function is marked with notToStatic().',
    hint: 'Remove the mark.',
  },
  'ignored-module': {
    explanation: 'The called function is in a module that ignoreModule() excludes.',
    hint: 'Remove that module from ignoreModule().',
  },
  forced: { explanation: 'breakGraph() was called.', hint: 'Remove the call.' },
} as const satisfies Record<string, Explained>;

/** Whether the graph ends at a decision on a graph value. */
export function isDecision(reason: BreakReason): boolean {
  return 'decision' in breakReasons[reason];
}

/** The code to write instead, for the user. */
export function expectedInstead(reason: BreakReason): string {
  const { expected = 'code that stays in the program' }: Explained = breakReasons[reason];
  return expected;
}

/** The hint for full-graph mode. */
export function hintForOneProgram(reason: BreakReason): string {
  const { hint, forOneProgram = hint }: Explained = breakReasons[reason];
  return forOneProgram;
}

/** Whether the reason is a limitation of this version rather than the code. */
export function isLimitation(reason: BreakReason): boolean {
  return 'limitation' in breakReasons[reason];
}

export type BreakReason = keyof typeof breakReasons;

/** One break, as recorded and explained. */
export interface BreakRecord {
  readonly reason: BreakReason;
  /** The subject of the break: the function, the property, the message. */
  readonly detail: string;
  readonly at: UserPosition | undefined;
  /** The line of the user's file, if available. */
  readonly line?: string | undefined;
}

/** Thrown by a handler to end the graph before its instruction; never leaves the tracer. */
export class GraphBreak extends Error {
  override readonly name = 'GraphBreak';
  readonly reason: BreakReason;
  readonly detail: string;
  /** The position of the cause, if it isn't the instruction at which the graph ends. */
  at: UserPosition | undefined;
  /**
   * For a throw: whether an exception leaves the captured function for any decision that a run makes after the end of
   * the graph. Null if no decision was made before it.
   */
  isCertain: boolean | null = null;
  /** Whether paths produced values that can't be merged: each path could continue separately. */
  atMerge = false;
  /**
   * Whether an exception leaves the function that makes the decision and is caught by a caller: the paths never merge.
   */
  passesMerge = false;

  /** `cause`: the error that eager execution would throw here. */
  constructor(reason: BreakReason, detail: string, cause?: unknown) {
    super(`${reason}: ${detail}`, { cause });
    this.reason = reason;
    this.detail = detail;
  }
}

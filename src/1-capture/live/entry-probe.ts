import type { Extent, FunctionFacts } from '../script/binding.ts';
import type { AnyFunction } from '../script/captured-function.ts';
import {
  type EntryRanges,
  entryRanges,
  firstStop,
  type OffsetRange,
} from '../script/entry-positions.ts';
import { isImplicit } from '../script/implicit-constructor.ts';
import { type CaptureRefusal, refuse } from '../script/refusal.ts';
import { type DebuggerSession, handoverName, type Location, realmOf } from './debugger-session.ts';
import type { Script } from './script.ts';
import { universalValue } from './universal-value.ts';

/** Evaluates text in a function's scope, always in sloppy mode. */
export type Evaluate = (source: string) => unknown;

// The parameter must not hide a user's variable.
const condition = `${handoverName}.hit(__tostaticSource => eval(__tostaticSource)), false`;

/**
 * Returns an evaluator from the scope of `fn` without running its body. Breakpoints at all positions where a call can
 * begin have a condition that passes out `e => eval(e)` and is false, so that nothing pauses; then the call is
 * terminated. Termination can't be caught and runs no `finally`.
 */
export function probeEntry(
  session: DebuggerSession,
  fn: AnyFunction,
  objectId: string,
  at: Location,
  script: Script,
  facts: FunctionFacts,
): Evaluate | CaptureRefusal {
  session.debug();
  const { classNode } = facts;
  const entry = entryOf(session, at, script, facts);
  if (entry.unsafe) {
    const { node, why } = entry.unsafe;
    const { file, line } = script.text.position(node.start);
    return refuse('unsafe-entry', `At the entry, ${why} (${file}:${line}).`);
  }

  let evaluate: Evaluate | undefined;
  session.reachFrom(realmOf(fn));
  // The function may have replaced a built-in one: calls made while breakpoints are set must not be stopped.
  let isEntered = false;
  session.handover.hit = (found) => {
    if (!isEntered) return;
    isEntered = false;
    evaluate = found;
    session.post('Runtime.terminateExecution');
  };
  const call = callThatStops(fn, facts);
  if (call === undefined) {
    return refuse(
      'entry-missed',
      'A frozen class with fields cannot be captured without running it.',
    );
  }
  session.handover.run = () => {
    isEntered = true;
    call.run();
  };
  // A class without a constructor has no entry to stop at, only its fields.
  const called = classNode && isImplicit(classNode) ? null : objectId;
  try {
    runToBreakpoint(session, called, entryLocations(entry, script, at));
  } finally {
    call.restore();
    session.handover.hit = () => {};
    session.handover.run = () => {};
  }
  if (!evaluate)
    return refuse('entry-missed', `The entry of ${fn.name || 'the function'} was missed.`);
  try {
    evaluate('0');
    return evaluate;
  } catch {
    const names = [...facts.free.keys()];
    return refuse('no-scope', 'The process forbids code generation from strings.', names);
  }
}

/** Starts the prepared call, with breakpoints at the entry of the function `called` and at `locations`. */
function runToBreakpoint(
  session: DebuggerSession,
  called: string | null,
  locations: readonly Location[],
): void {
  const breakpoints: string[] = [];
  try {
    if (called !== null) {
      const options = { objectId: called, condition };
      const set = session.post('Debugger.setBreakpointOnFunctionCall', options);
      breakpoints.push(set.breakpointId);
    }
    for (const location of locations) {
      const set = session.post('Debugger.setBreakpoint', { location, condition });
      breakpoints.push(set.breakpointId);
    }
    try {
      session.post('Runtime.evaluate', { expression: `${handoverName}.run()`, silent: true });
    } catch {
      // "Execution was terminated", as requested.
    }
  } finally {
    for (const breakpointId of breakpoints) {
      session.post('Debugger.removeBreakpoint', { breakpointId });
    }
  }
}

interface Entry extends EntryRanges {
  /** The first stop, if the text determines it; `ranges` is then empty. */
  readonly reached: ReturnType<typeof firstStop>;
  /** Where the engine can stop, up to an offset. */
  readonly possible: (to: number, restrictToFunction: boolean) => readonly Place[];
}

/** Returns where a call can begin, apart from the call itself. */
function entryLocations(
  { reached, ranges, possible }: Entry,
  script: Script,
  at: Location,
): readonly Location[] {
  if (typeof reached === 'number') return [locate(script, at.scriptId, reached)];
  if (reached) return [];
  const isEntry = (place: Place) => ranges.some((range) => isIn(range)(place));
  const places = possible(Math.max(...ranges.map(({ to }) => to)), false);
  return places.filter(isEntry).map(({ location }) => location);
}

function entryOf(
  session: DebuggerSession,
  at: Location,
  script: Script,
  facts: FunctionFacts,
): Entry {
  const { classNode, node } = facts;
  const last = classNode && isImplicit(classNode) ? classNode.end : node.end;
  const first = classNode ? Math.min(classNode.start, node.start) : node.start;
  // A long function has hundreds of possible breakpoints, so only those up to the end of the entry are requested.
  const possible: Entry['possible'] = (to, restrictToFunction) => {
    const start = restrictToFunction ? at : locate(script, at.scriptId, first);
    const end = locate(script, at.scriptId, Math.min(to, last) + 1);
    const found = session.post('Debugger.getPossibleBreakpoints', {
      start,
      end,
      restrictToFunction,
    });
    return placesOf(script, found.locations);
  };
  // The engine searches all functions of the script for a position, which takes milliseconds if there are many.
  const reached = firstStop(facts);
  if (reached !== undefined) return { reached, ranges: [], possible };
  const breaks = (range: OffsetRange) => possible(range.to, true).some(isIn(range));
  return { reached, possible, ...entryRanges(facts, breaks) };
}

/**
 * Returns the outer names that `probeEntry` may find hidden by local ones, as in `f() { { let x = 1 } return x }`: a
 * call stops outside most blocks.
 */
export function hiddenAtEntry(
  session: DebuggerSession,
  at: Location,
  script: Script,
  facts: FunctionFacts,
): string[] {
  const { free, declared, bodyNames } = facts;
  const names = [...free.keys()].filter((name) => declared.has(name));
  if (names.every((name) => bodyNames.has(name))) return names;
  session.debug();
  const { ranges } = entryOf(session, at, script, facts);
  const isReached = ({ start, end }: Extent) =>
    ranges.some(({ from, to }) => start <= to && from <= end);
  return names.filter((name) => bodyNames.has(name) || declared.get(name)!.some(isReached));
}

interface Place {
  readonly offset: number;
  readonly location: Location;
}

const isIn =
  ({ from, to }: OffsetRange) =>
  ({ offset }: Place): boolean =>
    from <= offset && offset <= to;

function placesOf(script: Script, locations: readonly Location[]): Place[] {
  const places = new Map<number, Place>(); // a position may be listed twice, but can only be set once
  for (const { scriptId, lineNumber, columnNumber } of locations) {
    const offset = script.text.offsetAt(lineNumber, columnNumber);
    places.set(offset, { offset, location: { scriptId, lineNumber, columnNumber } });
  }
  return [...places.values()];
}

function locate(script: Script, scriptId: string, offset: number): Location {
  const { line, column } = script.text.lineAndColumnAt(Math.min(offset, script.text.text.length));
  return { scriptId, lineNumber: line, columnNumber: Math.max(column, 0) };
}

interface Call {
  run(): void;
  restore(): void;
}

/** Returns a call that reaches the breakpoints; undefined if only running user code would. */
function callThatStops(fn: AnyFunction, facts: FunctionFacts): Call | undefined {
  const args = Array.from({ length: facts.node.params.length + 16 }, () => universalValue);
  const { classNode } = facts;
  if (!classNode) {
    const run = () => {
      const result: unknown = Reflect.apply(fn, universalValue, args);
      // Calling a generator only binds its parameters.
      if (facts.node.generator) (result as Generator).next();
    };
    return { run, restore: () => {} };
  }
  const newTarget = function target() {};
  const run = () => void Reflect.construct(fn, args, newTarget);
  if (!classNode.superClass || !isImplicit(classNode)) return { run, restore: () => {} };
  // The implicit constructor calls the parent's constructor before the fields, so a harmless parent is
  // substituted.
  const parent = Object.getPrototypeOf(fn);
  if (!Reflect.setPrototypeOf(fn, newTarget)) return undefined;
  return { run, restore: () => Object.setPrototypeOf(fn, parent) };
}

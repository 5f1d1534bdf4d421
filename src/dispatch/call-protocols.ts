/** The three call protocols: straight to the return, across awaits, or from one `yield` to the next. */

import type { AnyFunction } from '../1-capture/capture.ts';
import type { Frame } from '../vm/bytecode/frame.ts';
import { awaitedBy, resumeWith } from '../vm/frames/async-frame.ts';
import { copyFrameState } from '../vm/frames/copy-frame-state.ts';
import { suspensionOf } from '../vm/frames/driven-frame.ts';
import { generatorOver } from '../vm/frames/generator-frame.ts';
import { catchIn } from '../vm/frames/unwind.ts';
import { type EntryDispatcher, type Fragments, isFragment } from './entry-dispatcher.ts';
import { OwnedTensors } from './ownership/owned-tensors.ts';
import type { ResumePoint } from './resume-point.ts';

/** Pool of records for calls without a break, one per level of nested calls so far. */
const unused: OwnedTensors[] = [];

/** Runs an ordinary call. */
export function runToReturn(
  dispatcher: EntryDispatcher,
  start: ResumePoint,
  initial: Frame[],
): unknown {
  const owned = unused.pop() ?? new OwnedTensors();
  let point = start;
  let frames = initial;
  let fragments: Fragments | undefined;
  try {
    for (;;) {
      const outcome = dispatcher.run(point, frames, owned);
      if (outcome.kind === 'return') return outcome.value;
      frames = outcome.frames;
      if (isFragment(outcome)) {
        fragments ??= new Map();
        if (dispatcher.isTooMany(fragments, point, frames))
          return dispatcher.finish(frames, owned).value;
      }
      if (outcome.kind === 'break') dispatcher.step(outcome, owned);
      point = dispatcher.pointAfter(point, outcome, frames);
    }
  } finally {
    if (owned.isUsed) owned.disposeAll();
    else unused.push(owned);
  }
}

/** Runs an async function. At an `await` it returns control to JavaScript and keeps its frame as data. */
export async function runAsync(
  dispatcher: EntryDispatcher,
  start: ResumePoint,
  initial: Frame[],
): Promise<unknown> {
  const owned = new OwnedTensors();
  const fragments: Fragments = new Map();
  let [point, frames] = [start, initial];
  let isNative = false;
  try {
    for (;;) {
      let outcome = isNative
        ? dispatcher.natively(frames, owned)
        : dispatcher.awaitsRuns
          ? await dispatcher.runAsync(point, frames, owned)
          : dispatcher.run(point, frames, owned);
      if (outcome.kind !== 'return' && isFragment(outcome)) {
        isNative = dispatcher.isTooMany(fragments, point, outcome.frames);
        if (isNative) outcome = dispatcher.natively(outcome.frames, owned);
      }
      if (outcome.kind === 'return') return outcome.value;
      frames = outcome.frames;
      const frame = frames[frames.length - 1]!;
      const awaited = awaitedBy(frame);
      if (awaited) {
        owned.escape(awaited.value);
        try {
          resumeWith(frame, await awaited.value);
        } catch (error) {
          if (!catchIn(frame, frame.pc, error)) throw error;
        }
      } else if (outcome.kind === 'break') dispatcher.step(outcome, owned);
      point = dispatcher.pointAfter(point, outcome, frames);
    }
  } finally {
    owned.disposeAll();
  }
}

/**
 * Creates a generator object. Its parameters are evaluated immediately, natively; its body runs as values are
 * requested.
 */
export function generate(
  dispatcher: EntryDispatcher,
  frame: Frame,
  fn: AnyFunction,
  runsAsItIs: () => boolean,
): unknown {
  const owned = new OwnedTensors();
  dispatcher.finish([frame], owned);
  frame.pc++;
  const generator = generatorOver(frame, (each) =>
    runsAsItIs() ? dispatcher.finish([each], owned).value : advance(dispatcher, each, owned),
  );
  const { prototype } = (frame.closure.fn ?? fn) as AnyFunction;
  return prototype instanceof Object ? Object.setPrototypeOf(generator, prototype) : generator;
}

/** Runs a generator's frame to its next `yield` or `await`, or to its return. */
function advance(dispatcher: EntryDispatcher, frame: Frame, owned: OwnedTensors): unknown {
  let frames = [{ ...frame, registers: [...frame.registers] }];
  try {
    let point = dispatcher.points.at(frames);
    for (;;) {
      const outcome = dispatcher.run(point, frames, owned);
      if (outcome.kind === 'return') {
        owned.disposeAll();
        return outcome.value;
      }
      frames = outcome.frames;
      const suspended = frames.length === 1 ? suspensionOf(frames[0]!) : undefined;
      if (suspended) {
        owned.escape(suspended.value);
        copyFrameState(frames[0]!, frame);
        return suspended;
      }
      if (outcome.kind === 'break') dispatcher.step(outcome, owned);
      point = dispatcher.pointAfter(point, outcome, frames);
    }
  } catch (error) {
    owned.disposeAll();
    throw error;
  }
}

import { hasMoreDevices } from '../../runtime/device/current.ts';
import { DataError } from '../../runtime/errors/errors.ts';
import { withDerivedViews } from '../../runtime/program/verify/view-metas.ts';
import { badFile, type Field } from '../../runtime/save/file/field.ts';
import { GuardSet } from '../guards/guard.ts';
import { neededNumbers } from '../guards/needed-numbers.ts';
import { compileReader, dimSource } from '../guards/source.ts';
import { sourceKey } from '../guards/source-key.ts';
import type { TraceResult } from '../traces/trace-result.ts';
import type { Frame } from '../vm/bytecode/frame.ts';
import type { CacheFiles } from './cache-files.ts';
import { type Digest, printCode } from './code-print.ts';
import { NotStorable } from './codec.ts';
import { KnownObjects } from './known-objects.ts';
import { LiveReader, ProcessMismatch } from './live-reader.ts';
import { LiveWriter } from './live-writer.ts';
import { notingCode, type RequestedCode } from './requested-code.ts';
import { trace } from './trace-codec.ts';
import type { StoredTrace, TraceRequest, TraceStore } from './trace-store.ts';
import { verifyTrace } from './verify-trace.ts';

/** The most traces stored for one point: with more, the guarded facts change with every call. */
const mostEntries = 32;

/** The traces of functions, in one file per point in the code at which calls are traced. */
export class TraceFiles implements TraceStore {
  readonly #files: CacheFiles;
  readonly #digest: Digest;
  #known: KnownObjects | undefined;
  /** The entries of the files read so far. */
  readonly #entries = new Map<string, readonly Field[]>();

  constructor(files: CacheFiles, digest: Digest) {
    this.#files = files;
    this.#digest = digest;
  }

  at(request: TraceRequest): StoredTrace {
    this.#known ??= new KnownObjects();
    const { frames, codeOf } = request;
    const [known, digest] = [this.#known, this.#digest];
    const requested: RequestedCode[] = [];
    const name = `${digest(this.#pointOf(request))}.trace`;
    let isThere = false;
    let writer: LiveWriter | undefined;
    let facts: unknown;
    return {
      codeOf: notingCode(codeOf, requested),
      find: () => {
        const found = this.#find(name, request);
        isThere = found !== undefined;
        return found;
      },
      keep: (result, guards) => {
        if (isThere) return undefined;
        try {
          if (!writer) {
            const { places } = result;
            writer = new LiveWriter({ frames, places, requested, codeOf, known, digest });
            facts = writer.facts();
          }
          const written = trace.write({ ...result, guards, resized: null }, writer);
          this.#add(name, { lists: writer.lists(), facts, trace: written });
          return undefined;
        } catch (error) {
          if (error instanceof NotStorable) return error.message;
          throw error;
        }
      },
    };
  }

  /** Returns a text that is equal for calls that may share a trace, apart from guards. */
  #pointOf({ frames, settings, history }: TraceRequest): string {
    const { dynamic, fullGraph, capture, unrollLimit, pathLimit, traceLimit } = settings;
    const limits = [unrollLimit, pathLimit, traceLimit].map(String);
    const options = [dynamic, fullGraph, capture, limits, [...history.bounds]];
    const stack = frames.map(({ closure, pc, gradMode, guard }) => {
      const device = (guard as { name?: string } | null | undefined)?.name ?? guard;
      return [printCode(closure.code, closure.fn, this.#digest), pc, gradMode, device];
    });
    return JSON.stringify([process.version, options, hasMoreDevices(), stack]);
  }

  #find(name: string, request: TraceRequest): TraceResult | undefined {
    try {
      for (const entry of this.#entriesOf(name)) {
        const found = this.#read(entry, request);
        if (found) return found;
      }
    } catch (error) {
      if (!(error instanceof DataError)) throw error;
      this.#files.refuse(name, error);
      this.#entries.set(name, []);
    }
    return undefined;
  }

  #entriesOf(name: string): readonly Field[] {
    let entries = this.#entries.get(name);
    if (!entries) {
      entries = this.#files.read(name)?.get('entries').items(mostEntries) ?? [];
      this.#entries.set(name, entries);
    }
    return entries;
  }

  /** Keeps entries that other processes have stored meanwhile. */
  #add(name: string, entry: unknown): void {
    let others: readonly Field[] = [];
    try {
      others = this.#files.read(name)?.get('entries').items(mostEntries) ?? [];
    } catch (error) {
      if (!(error instanceof DataError)) throw error;
    }
    const kept = others.slice(others.length === mostEntries ? 1 : 0).map(({ value }) => value);
    this.#files.write(name, { entries: [...kept, entry] });
    this.#entries.delete(name);
  }

  #read(entry: Field, { frames, codeOf, history }: TraceRequest): TraceResult | undefined {
    try {
      const surroundings = { frames, codeOf, known: this.#known!, digest: this.#digest };
      const live = new LiveReader(surroundings, entry.get('lists'));
      live.expectFacts(entry.get('facts'));
      const found = trace.read(entry.get('trace'), live);
      verifyTrace(found, frames);
      const codes = frames.map(({ closure }) => closure.code);
      const pcs = frames.map(({ pc }) => pc);
      const result = { ...found, places: [], sources: live.files, codes, pcs };
      const guards = [...result.guards, ...neededNumbers(result)];
      if (!new GuardSet(guards, result.sizes).holds(frames)) return undefined;
      const now = ofNow(result, frames);
      noteNumbers(now, history);
      return now;
    } catch (error) {
      if (error instanceof ProcessMismatch) return undefined;
      if (error instanceof DataError) throw error;
      // Inconsistent data may fail with any error.
      throw badFile(entry.path, String(error), 'parts that fit together', error);
    }
  }
}

/**
 * Numbers that decisions depend on while ops are bound are those of the current call, and so are the offsets of views.
 */
function ofNow(trace: TraceResult, frames: readonly Frame[]): TraceResult {
  const { scalars, numbers } = trace;
  const inputs = scalars.inputs();
  numbers.forEach((source, i) => {
    if (source.kind !== 'called') inputs[i] = Number(compileReader(source)(frames));
  });
  scalars.values.splice(0, scalars.values.length, ...scalars.evaluate(inputs));
  const needed = scalars.dependencies();
  const program = withDerivedViews(trace.program);
  // They were only read.
  scalars.dependOn(needed);
  return { ...trace, program };
}

/** Behaves like tracing: a second number at a location makes it symbolic, and a second key of a Map may be any key. */
function noteNumbers({ guards }: TraceResult, history: TraceRequest['history']): void {
  for (const guard of guards) {
    if (guard.kind === 'value' && typeof guard.value === 'number') {
      history.isSymbolic(sourceKey(guard.source), guard.value);
    } else if (guard.kind === 'identity') {
      history.isOtherObject(sourceKey(guard.source), guard.value);
    } else if (guard.kind === 'tensor') {
      guard.shape.forEach((size, dim) => {
        const key = sourceKey(dimSource(guard.source, dim));
        if (typeof size === 'number') history.isSymbolicSize(key, size);
      });
    }
  }
}

import { isNativeText, parsePrinted } from '../live/capture-printed.ts';
import { parseScript, type Script } from '../live/script.ts';
import { universalValue } from '../live/universal-value.ts';
import { analyzeScript } from '../script/analyze-script.ts';
import type { FunctionFacts } from '../script/binding.ts';
import type { AnyFunction } from '../script/captured-function.ts';
import { functionNames } from '../script/function-names.ts';
import { isRefusal } from '../script/refusal.ts';
import { makeScriptText } from '../script/script-text.ts';
import { beginsWithMarker, markerProperty } from './entry-marker.ts';
import { type EmbeddedSource, probe, type ScopeTable } from './probe.ts';
import { unpack } from './unpack.ts';

/** The information that the build plugin has put into a function. */
export interface Marked {
  readonly script: Script;
  readonly facts: FunctionFacts;
  readonly table: ScopeTable;
  readonly self?: (() => unknown) | undefined;
}

/** The script of each module, keyed by the plugin's function that returns its source. */
const scripts = new WeakMap<() => EmbeddedSource, Script>();

/**
 * Reads the marker of an instrumented function by calling it while the probe is active: the entry passes out the
 * scope and returns. Returns undefined for other functions, which are not called.
 */
export function readMarker(fn: AnyFunction): Marked | undefined {
  const printed = Function.prototype.toString.call(fn);
  if (!printed.includes(markerProperty) || isNativeText(printed)) return undefined;
  const entry = entryOf(printed);
  const hit = entry && hitOf(fn, entry);
  if (!hit) return undefined;
  const script = scriptOf(hit.source);
  const facts = script?.facts.functions.find(({ node }) => node.start === hit.start);
  return script && facts && { script, facts, table: hit.scope?.() ?? {}, self: hit.self };
}

/** How to call a function with a marker. */
interface Entry {
  readonly parameters: number;
  readonly generator: boolean;
  readonly constructs: boolean;
}

/**
 * Entries by printed text, since one location has many closures. The oldest entries are dropped above the limit.
 */
const entries = new Map<string, Entry | undefined>();
const entryLimit = 200;

/** Matches a function without default values, in the plugin's form, so that its text needs no parser. */
const plainEntry =
  /^(?:async\s)?(?:function\s*)?(\*?)[\s\w$]*\(([\w\s,.:$[\]{}]*)\)\s*(?:=>\s*)?\{?\s*(?:if\s*\()?\s*[\w$]+\.\$tostatic\b/;

function entryOf(printed: string): Entry | undefined {
  const plain = plainEntry.exec(printed);
  if (plain) {
    return {
      parameters: plain[2]!.split(',').length,
      generator: plain[1] !== '',
      constructs: false,
    };
  }
  if (entries.has(printed)) return entries.get(printed);
  const parsed = parsePrinted(printed);
  let entry: Entry | undefined;
  if (!isRefusal(parsed) && beginsWithMarker(parsed.facts.node)) {
    const { node, classNode } = parsed.facts;
    const { params, generator = false } = node;
    entry = { parameters: params.length, generator, constructs: classNode !== undefined };
  }
  for (const oldest of entries.keys()) {
    if (entries.size < entryLimit) break;
    entries.delete(oldest);
  }
  entries.set(printed, entry);
  return entry;
}

interface Hit {
  readonly source: () => EmbeddedSource;
  readonly start: number;
  readonly scope: (() => ScopeTable) | undefined;
  readonly self: (() => unknown) | undefined;
}

function hitOf(fn: AnyFunction, { parameters, generator, constructs }: Entry): Hit | undefined {
  const before = probe.hit;
  let found: Hit | undefined;
  probe.hit = (source, start, scope, self) => {
    probe.$tostatic = false; // code after the entry must not stop, too
    found = { source, start, scope, self };
    return {};
  };
  // No parameter default runs: every argument exists and has every property.
  const args = Array.from({ length: parameters + 16 }, () => universalValue);
  probe.$tostatic = true;
  try {
    if (constructs) Reflect.construct(fn, args, function target() {});
    else {
      const result: unknown = Reflect.apply(fn, universalValue, args);
      if (generator && !found) void (result as Generator).next();
    }
  } catch {
    // If the parameters threw, there is no hit, and other routes are tried.
  } finally {
    probe.$tostatic = false;
    probe.hit = before;
  }
  return found;
}

function scriptOf(source: () => EmbeddedSource): Script | undefined {
  const known = scripts.get(source);
  if (known) return known;
  const embedded = source();
  const { code: text, map, commonJs = false } = unpack(embedded);
  const ast = parseScript(text, !commonJs);
  if (isRefusal(ast)) return undefined;
  const script: Script = {
    text: makeScriptText({ text, url: embedded.file, map }),
    facts: analyzeScript(ast),
    names: functionNames(ast),
    evaluated: false,
    isModule: true,
  };
  scripts.set(source, script);
  return script;
}

import type { PrivateAccess, Scope } from '../../vm/bytecode/frame.ts';
import { type Binding, type FunctionFacts, isNeverReassigned } from '../script/binding.ts';
import { frozenGlobals } from '../script/standard-globals.ts';
import { noteAssigned } from './capture-snapshot.ts';
import type { Evaluate } from './entry-probe.ts';
import { guardUninitialized, isOwnFunction, placesOf, scopeReads } from './scope-reads.ts';
import type { Script } from './script.ts';

type Reader = () => unknown;
type Writer = (value: unknown) => void;

/**
 * Returns the outer variables of a function, through an evaluator that runs in its scope. Readers are created once
 * for all free names, as closures in that scope: a read is then a call of `() => name`.
 *
 * `hidden`: free names that a local variable hides at the evaluator's location. They never change, so their values
 * were read once.
 */
export function liveScope(
  evaluate: Evaluate,
  script: Script,
  facts: FunctionFacts,
  hidden: ReadonlyMap<string, unknown>,
): Scope {
  const readers = new Map<string, Reader>();
  const writers = new Map<string, Writer>();
  let prepared = false;

  const prepare = (): void => {
    prepared = true;
    for (const [name, value] of hidden) readers.set(name, () => value);
    const names = [...facts.free.keys()].filter((name) => !hidden.has(name));
    const table = names.map((name) => `[${JSON.stringify(name)}, () => ${name}]`);
    for (const [name, read] of evaluate(`[${table}]`) as [string, Reader][]) {
      readers.set(name, guardUninitialized(name, read, facts.free.get(name)));
    }
  };

  const reader = (name: string): Reader => {
    if (!prepared) prepare();
    let read = readers.get(name);
    if (read === undefined) {
      checkName(name);
      read = evaluate(`() => ${name}`) as Reader;
      readers.set(name, read);
    }
    return read;
  };

  const { isReadable, ...reads } = scopeReads(reader, facts);
  const scope: Scope = {
    ...reads,
    set(name, value, strict = facts.strict) {
      // A function or class inside sloppy code may be strict.
      const key = `${strict} ${name}`;
      let write = writers.get(key);
      if (write === undefined) {
        if (hidden.has(name)) throw new TypeError('Assignment to constant variable.');
        write = writerOf(evaluate, name, strict);
        writers.set(key, write);
      }
      noteAssigned(facts.free.get(name));
      write(value);
    },
    delete(name) {
      checkName(name);
      return evaluate(`delete ${name}`) as boolean;
    },
    isConstant(name) {
      const binding = facts.free.get(name);
      if (binding === undefined) return frozenGlobals.has(name);
      if (isOwnFunction(binding, script.text, reader)) return true;
      if (!isNeverReassigned(binding) || isExposed(binding, script)) return false;
      // An uninitialized variable will still change.
      return isReadable(name) && (binding.kind !== 'var' || reader(name)() !== undefined);
    },
  };
  const exposed = (binding: Binding): boolean =>
    hidden.has(binding.name) || isExposed(binding, script);
  return { ...scope, place: placesOf(scope, facts, exposed) };
}

function writerOf(evaluate: Evaluate, name: string, strict: boolean): Writer {
  checkName(name);
  const parameter = name === '__value' ? '__other' : '__value';
  const directive = strict ? '"use strict";' : ''; // evaluated text doesn't inherit strictness
  return evaluate(`${directive} ${parameter} => { ${name} = ${parameter} }`) as Writer;
}

/**
 * Returns whether the variable can be assigned from elsewhere, as top-level variables of classic scripts and of
 * evaluated text can.
 */
function isExposed(binding: Binding, script: Script): boolean {
  if (script.isModule || binding.scope.kind !== 'program') return false;
  if (binding.kind === 'const') return false;
  if (script.evaluated) return true;
  if (Object.hasOwn(globalThis, binding.name)) return true;
  try {
    new Function(`${binding.name}`)(); // sees only globals, among them `let` and `class` of scripts
    return true;
  } catch {
    return false;
  }
}

/** Names come from the parser; this ensures that nothing else is ever evaluated. */
function checkName(name: string): void {
  if (/^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u.test(name)) return;
  throw new Error(`invariant: ${JSON.stringify(name)} is not a variable's name`);
}

export function privateAccess(evaluate: Evaluate, name: string): PrivateAccess {
  checkName(name);
  const get = evaluate(`o => o.#${name}`) as PrivateAccess['get'];
  const has = evaluate(`o => #${name} in o`) as PrivateAccess['has'];
  // Created on the first write, since a private method has no setter to compile.
  let set: PrivateAccess['set'] | undefined;
  return {
    get,
    has,
    set(object, value) {
      // V8 ignores a write to an object without the name in code that a debugger evaluates.
      set ??= evaluate(
        `(o, v) => { o.#${name} = v; if (Object(o) !== o || !(#${name} in o)) throw new TypeError('Cannot write private member #${name} to an object whose class did not declare it') }`,
      ) as PrivateAccess['set'];
      set(object, value);
    },
  };
}

import { homeObjectInClass } from '../live/home-object.ts';
import type { AnyFunction, CapturedFunction } from '../script/captured-function.ts';
import { declaredAccess } from '../script/private-declaration.ts';
import { markedScope } from './marked-scope.ts';
import type { PrivateFunctions, ScopeTable } from './probe.ts';
import type { Marked } from './read-marker.ts';

/** The route through the build plugin: the module's original source, with a scope of getters and setters. */
export function captureMarked(fn: AnyFunction, marked: Marked): CapturedFunction {
  const { kind, source, start, strict, syntax, code, free, self } = marked;
  const name = marked.name ?? fn.name;
  const homeObject = marked.usesSuper ? homeObjectOf(fn, marked) : undefined;
  return {
    fn,
    route: 'plugin',
    name,
    kind,
    source,
    start,
    syntax,
    code: code && ((lower) => code(name, lower)),
    scope: markedScope(marked.table, marked),
    freeNames: [...free.keys()],
    ...(self && { thisValue: thisOf(self) }),
    ...(homeObject && { homeObject }),
    strict,
    privateName: (name: string) =>
      declaredAccess(
        privateAccess(marked.table, name),
        marked.privateNames.get(name),
        (owner) => (marked.table as Record<string, unknown>)[owner],
      ),
  };
}

function thisOf(self: () => unknown): { value: unknown } {
  try {
    return { value: self() };
  } catch {
    return { value: undefined }; // an arrow in a derived constructor, before `super()`
  }
}

function privateAccess(table: ScopeTable, name: string) {
  const functions = (table as Record<string, PrivateFunctions | undefined>)[`#${name}`];
  if (!functions) throw new SyntaxError(`#${name} is not used in the function`);
  const [get, has, write] = functions;
  const set = (object: object, value: unknown): void => {
    if (!write) throw new TypeError(`#${name} can't be written`);
    write(object, value);
  };
  return { get, has, set };
}

function homeObjectOf(fn: AnyFunction, { kind, className, table }: Marked): object | undefined {
  if (kind === 'constructor') return fn.prototype as object;
  // The plugin adds the class name to the getters of methods that use `super`.
  const read = (name: string): unknown => (table as Record<string, unknown>)[name];
  return homeObjectInClass(fn, className, read);
}

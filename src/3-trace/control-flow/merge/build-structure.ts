import { valuesIn } from '../../../../runtime/program/number-text.ts';
import { isListed } from '../../state/listed.ts';
import type { Tracer } from '../../state/tracer.ts';
import type { ListVariable } from '../../variables/growable-list.ts';
import { textOf } from '../../variables/text.ts';
import {
  absent,
  type DeviceScalar,
  type OwnPart,
  uninitializedVariable,
  type Variable,
} from '../../variables/variable.ts';
import { grownArray } from '../lists/list-elements.ts';
import { describePaths } from './describe.ts';

/** Thrown if the paths produce values that one program can't merge. */
export class Mismatch extends Error {
  override readonly name = 'Mismatch';
}

/** The value that each path produces; null if it is dead. */
export type Values = readonly (Variable | null)[];

/** Builds a merged value. `made`: values built so far, by their builders. */
export type Build = (joined: readonly Variable[], made: Map<Build, Variable>) => Variable;

/**
 * Returns how to build a structure that every path has created, all of the kind of `first`. `add` merges the
 * parts. Throws Mismatch.
 */
export function buildStructure(
  t: Tracer,
  paths: Values,
  first: Variable,
  build: Build,
  add: (parts: Values) => Build,
): Build {
  const part = <K extends Variable['kind']>(
    _kind: K,
    pick: (path: Extract<Variable, { kind: K }>) => Variable | undefined,
  ): Build =>
    add(paths.map((path) => path && (pick(path as Extract<Variable, { kind: K }>) ?? absent)));
  const listed = paths.some((path) => path !== null && isListed(path));
  switch (first.kind) {
    case 'newArray': {
      if (first.grown) {
        const { form } = first.grown;
        const lists = first.grown.lists.map((_, i) =>
          part('newArray', (path) => path.grown?.lists[i]),
        );
        const length = part('newArray', (path) => path.grown?.length);
        return (joined, made) => {
          const array = grownArray({
            form,
            lists: lists.map((list) => list(joined, made) as ListVariable),
            length: length(joined, made) as DeviceScalar,
          });
          made.set(build, array);
          return Object.assign(array, { listed });
        };
      }
      const parts = first.elements.map((_, i) => part('newArray', (path) => path.elements[i]));
      const own = first.own && part('newArray', (path) => path.own);
      return (joined, made) => {
        const array = { ...first, elements: [] as Variable[], listed };
        made.set(build, array);
        for (const each of parts) array.elements.push(each(joined, made));
        return Object.assign(array, { own: own?.(joined, made) as OwnPart | undefined });
      };
    }
    case 'newObject': {
      const parts = [...first.entries.keys()].map(
        (key) => [key, part('newObject', (path) => path.entries.get(key))] as const,
      );
      const order = first.order && part('newObject', (path) => path.order);
      return (joined, made) => {
        const object = { ...first, entries: new Map<string, Variable>(), listed };
        made.set(build, object);
        for (const [key, each] of parts) object.entries.set(key, each(joined, made));
        return Object.assign(object, { order: order?.(joined, made) });
      };
    }
    case 'newCollection': {
      const parts = [...first.entries].map(([id, { key }]) => {
        const value = part('newCollection', (path) => path.entries.get(id)?.value);
        // A key created on a path is its own identity.
        const own = id === key ? part('newCollection', (path) => path.entries.get(id)?.key) : null;
        return { id, key, own, value };
      });
      const order = first.order && part('newCollection', (path) => path.order);
      const own = first.own && part('newCollection', (path) => path.own);
      return (joined, made) => {
        const collection: typeof first = { ...first, entries: new Map(), putIn: [] };
        made.set(build, collection);
        for (const { id, key, own, value } of parts) {
          const merged = own ? own(joined, made) : key;
          collection.entries.set(own ? merged : id, { key: merged, value: value(joined, made) });
        }
        return Object.assign(collection, {
          order: order?.(joined, made),
          own: own?.(joined, made) as OwnPart | undefined,
        });
      };
    }
    case 'text': {
      const numbers = valuesIn(first.parts).map((_, i) =>
        part('text', (path) => valuesIn(path.parts)[i]),
      );
      return (joined, made) =>
        textOf(
          first,
          numbers.map((each) => each(joined, made)),
        );
    }
    case 'cell': {
      const content = part('cell', (path) => path.content);
      return (joined, made) => {
        const cell = { ...first, content: uninitializedVariable as Variable };
        made.set(build, cell);
        cell.content = content(joined, made);
        return cell;
      };
    }
    case 'closure': {
      const thisVariable = part('closure', (path) => path.thisVariable);
      const cells = first.cells.map((_, i) => part('closure', (path) => path.cells[i]));
      return (joined, made) => {
        const closure = {
          ...first,
          thisVariable: thisVariable(joined, made),
          cells: cells.map((cell) => cell(joined, made)) as typeof first.cells,
        };
        made.set(build, closure);
        return closure;
      };
    }
    default:
      throw new Mismatch(describePaths(t, paths));
  }
}

import { valuesIn } from '../../../../runtime/program/number-text.ts';
import type { Tracer } from '../../state/tracer.ts';
import type { ListVariable } from '../../variables/growable-list.ts';
import { textOf } from '../../variables/text.ts';
import {
  absent,
  type DeviceScalar,
  uninitializedVariable,
  type Variable,
} from '../../variables/variable.ts';
import { grownArray } from '../lists/list-elements.ts';
import { isListed } from '../lists/listed.ts';
import { describeWays } from './describe.ts';

/** The ways differ by more than one program can hold. */
export class Mismatch extends Error {
  override readonly name = 'Mismatch';
}

/** Per way, the value that it leaves; null where nobody reads it. */
export type Values = readonly (Variable | null)[];

/** `made`: what this building has made so far, by the structures it is made of. */
export type Build = (joined: readonly Variable[], made: Map<Build, Variable>) => Variable;

/**
 * How to make once more what every way has made of one kind, `first`'s: its parts come from `add`, which unifies
 * what the ways hold there. Throws Mismatch.
 */
export function buildStructure(
  t: Tracer,
  ways: Values,
  first: Variable,
  build: Build,
  add: (parts: Values) => Build,
): Build {
  const part = <K extends Variable['kind']>(
    _kind: K,
    pick: (way: Extract<Variable, { kind: K }>) => Variable | undefined,
  ): Build =>
    add(ways.map((way) => way && (pick(way as Extract<Variable, { kind: K }>) ?? absent)));
  const listed = ways.some((way) => way !== null && isListed(way));
  switch (first.kind) {
    case 'newArray': {
      if (first.grown) {
        const { form } = first.grown;
        const lists = first.grown.lists.map((_, i) =>
          part('newArray', (way) => way.grown?.lists[i]),
        );
        const length = part('newArray', (way) => way.grown?.length);
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
      const parts = first.elements.map((_, i) => part('newArray', (way) => way.elements[i]));
      return (joined, made) => {
        const array = { ...first, elements: [] as Variable[], listed };
        made.set(build, array);
        for (const each of parts) array.elements.push(each(joined, made));
        return array;
      };
    }
    case 'newObject': {
      const parts = [...first.entries.keys()].map(
        (key) => [key, part('newObject', (way) => way.entries.get(key))] as const,
      );
      const order = first.order && part('newObject', (way) => way.order);
      return (joined, made) => {
        const object = { ...first, entries: new Map<string, Variable>(), listed };
        made.set(build, object);
        for (const [key, each] of parts) object.entries.set(key, each(joined, made));
        return Object.assign(object, { order: order?.(joined, made) });
      };
    }
    case 'newCollection': {
      const parts = [...first.entries].map(([id, { key }]) => {
        const value = part('newCollection', (way) => way.entries.get(id)?.value);
        return { id, key, value };
      });
      const order = first.order && part('newCollection', (way) => way.order);
      return (joined, made) => {
        const collection: typeof first = { ...first, entries: new Map(), putIn: [] };
        made.set(build, collection);
        for (const { id, key, value } of parts) {
          collection.entries.set(id, { key, value: value(joined, made) });
        }
        return Object.assign(collection, { order: order?.(joined, made) });
      };
    }
    case 'text': {
      const numbers = valuesIn(first.parts).map((_, i) =>
        part('text', (way) => valuesIn(way.parts)[i]),
      );
      return (joined, made) =>
        textOf(
          first,
          numbers.map((each) => each(joined, made)),
        );
    }
    case 'cell': {
      const content = part('cell', (way) => way.content);
      return (joined, made) => {
        const cell = { ...first, content: uninitializedVariable as Variable };
        made.set(build, cell);
        cell.content = content(joined, made);
        return cell;
      };
    }
    case 'closure': {
      const thisVariable = part('closure', (way) => way.thisVariable);
      const cells = first.cells.map((_, i) => part('closure', (way) => way.cells[i]));
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
      throw new Mismatch(describeWays(t, ways));
  }
}

import { valuesIn } from '../../../../runtime/program/number-text.ts';
import type { ObjectTraits, Variable } from '../../variables/variable.ts';

/** Returns the variables that a variable contains. */
export function containedIn(variable: Variable): readonly (Variable | null)[] {
  switch (variable.kind) {
    case 'union':
      return variable.options;
    case 'newArray':
      if (variable.growable) return [...variable.growable.lists, variable.growable.length];
      return variable.named || variable.own
        ? [...variable.elements, ...(variable.named?.values() ?? []), variable.own ?? null]
        : variable.elements;
    case 'newObject':
      return [
        ...variable.entries.values(),
        variable.order ?? null,
        ...(variable.traits ? partsOfTraits(variable.traits) : []),
      ];
    case 'newCollection':
      return [
        ...[...variable.entries.values()].flatMap(({ key, value }) => [key, value]),
        variable.order ?? null,
        variable.own ?? null,
      ];
    case 'newPromise':
      return variable.values;
    case 'text':
      return valuesIn(variable.parts);
    case 'cell':
      return [variable.content];
    case 'closure':
      return [...variable.cells, variable.thisVariable, variable.home ?? null];
    case 'class': {
      const { cells, parent, prototype, statics, fields } = variable;
      return [...cells, parent, prototype, statics, fields ?? null];
    }
    case 'bound':
      return [variable.target, variable.receiver, ...variable.args];
    case 'iterator':
      return [variable.over];
    case 'iteratorRecord':
      // User code can't reach the iterator of a direct iteration.
      return variable.direct
        ? [variable.namesOf ?? variable.rowsOf ?? null]
        : [variable.iterator, variable.next];
    case 'generator': {
      const { registers, args, cells, thisVariable, delegate } = variable.frame;
      const kept = registers.map((each) => each ?? null);
      return [...kept, ...args, ...cells, thisVariable, delegate?.iteration ?? null];
    }
    default:
      return [];
  }
}

function partsOfTraits({
  symbols,
  attributes,
  prototype,
}: ObjectTraits): readonly (Variable | null)[] {
  const accessors = [...attributes.values()].flatMap(({ accessor }) =>
    accessor ? [accessor.get, accessor.set] : [],
  );
  return [...symbols.values(), ...accessors, prototype ?? null];
}

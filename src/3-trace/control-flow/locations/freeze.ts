import { resolved } from '../../variables/unions.ts';
import type {
  CellReference,
  CollectionEntry,
  ObjectTraits,
  TensorVariable,
  Variable,
} from '../../variables/variable.ts';

function freezeTraits(
  traits: ObjectTraits,
  freeze: (variable: Variable) => Variable,
): ObjectTraits {
  const { attributes, symbols } = traits;
  const half = (accessor: Variable | null) => accessor && freeze(accessor);
  return {
    ...traits,
    symbols: new Map([...symbols].map(([key, value]) => [key, freeze(value)])),
    attributes: new Map(
      [...attributes].map(([key, { accessor, ...rest }]) => {
        const frozen = accessor && { get: half(accessor.get), set: half(accessor.set) };
        return [key, { ...rest, accessor: frozen }];
      }),
    ),
  };
}

function isLeaf({ traced }: TensorVariable): boolean {
  return traced?.requiresGrad === true && traced.gradEdge === null;
}

/**
 * Returns a function that copies objects created after those in `made`; other variables are returned unchanged.
 */
export function freezer(made: ReadonlySet<Variable>): (variable: Variable) => Variable {
  const copies = new Map<Variable, Variable>();
  const freeze = (given: Variable): Variable => {
    const variable = resolved(given);
    if (made.has(variable)) return variable;
    const known_ = copies.get(variable);
    if (known_) return known_;
    switch (variable.kind) {
      case 'newArray': {
        if (variable.growable) {
          const same = { ...variable };
          copies.set(variable, same);
          return same;
        }
        const copy = { ...variable, elements: [] as Variable[] };
        copies.set(variable, copy);
        copy.elements.push(...variable.elements.map(freeze));
        if (variable.own) Object.assign(copy, { own: freeze(variable.own) });
        return copy;
      }
      case 'newObject': {
        const order = variable.order && freeze(variable.order);
        const { traits } = variable;
        const copy = { ...variable, order, entries: new Map<string, Variable>() };
        copies.set(variable, copy);
        copy.traits = traits && freezeTraits(traits, freeze);
        for (const [key, value] of variable.entries) copy.entries.set(key, freeze(value));
        return copy;
      }
      case 'newCollection': {
        const order = variable.order && freeze(variable.order);
        const own = { order, putIn: [...variable.putIn] };
        const copy = { ...variable, ...own, entries: new Map<unknown, CollectionEntry>() };
        copies.set(variable, copy);
        if (variable.own) Object.assign(copy, { own: freeze(variable.own) });
        for (const [id, { key, value }] of variable.entries) {
          copy.entries.set(id, { key: freeze(key), value: freeze(value) });
        }
        return copy;
      }
      case 'tensor': {
        // The effects of requiresGrad_() and backward() on a tensor created on the path are rolled back with the
        // path.
        if (variable.source || !(variable.grad || isLeaf(variable))) return variable;
        const copy = { ...variable };
        copies.set(variable, copy);
        return copy;
      }
      case 'dynamic': {
        // The write is rolled back for another path.
        if (!variable.isWritten) return variable;
        const copy = { ...variable };
        copies.set(variable, copy);
        return copy;
      }
      case 'union':
        return { ...variable, options: variable.options.map(freeze) };
      case 'closure': {
        const copy = { ...variable };
        copies.set(variable, copy);
        const cells = variable.cells.map((cell) => freeze(cell)) as CellReference[];
        return Object.assign(copy, { cells, thisVariable: freeze(variable.thisVariable) });
      }
      case 'bound': {
        const { target, receiver, args, name } = variable;
        const copy = { ...variable };
        copies.set(variable, copy);
        return Object.assign(copy, {
          target: freeze(target),
          receiver: freeze(receiver),
          args: args.map(freeze),
          name: name && freeze(name),
        });
      }
      case 'iterator': {
        const copy = { ...variable, passed: new Set(variable.passed) };
        copies.set(variable, copy);
        return Object.assign(copy, { over: freeze(variable.over) });
      }
      case 'generator': {
        const { frame, state } = variable;
        if (state === 'running') return variable;
        const registers: typeof frame.registers = [];
        const copy = { ...variable, frame: { ...frame, registers } };
        copies.set(variable, copy);
        registers.push(...frame.registers.map((each) => each && freeze(each)));
        return copy;
      }
      case 'cell': {
        const copy = { ...variable };
        copies.set(variable, copy);
        copy.content = freeze(variable.content);
        return copy;
      }
      default:
        return variable;
    }
  };
  return freeze;
}

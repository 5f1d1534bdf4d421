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
 * Returns a function that copies objects created after those in `existing`; other variables are returned unchanged.
 */
export function freezer(existing: ReadonlySet<Variable>): (variable: Variable) => Variable {
  const copies = new Map<Variable, Variable>();
  /** The copy is known before its contents are copied: these may refer to the variable. */
  const copyOf = <V extends Variable>(variable: V, changed: Partial<V> = {}): V => {
    const copy = { ...variable, ...changed };
    copies.set(variable, copy);
    return copy;
  };
  const freeze = (value: Variable): Variable => {
    const variable = resolved(value);
    return existing.has(variable) ? variable : (copies.get(variable) ?? frozen(variable));
  };
  const frozen = (variable: Variable): Variable => {
    switch (variable.kind) {
      case 'newArray': {
        if (variable.growable) return copyOf(variable);
        const elements: Variable[] = [];
        const copy = copyOf(variable, { elements });
        elements.push(...variable.elements.map(freeze));
        if (variable.own) Object.assign(copy, { own: freeze(variable.own) });
        return copy;
      }
      case 'newObject': {
        const order = variable.order && freeze(variable.order);
        const { traits } = variable;
        const copy = copyOf(variable, { order, entries: new Map<string, Variable>() });
        copy.traits = traits && freezeTraits(traits, freeze);
        for (const [key, value] of variable.entries) copy.entries.set(key, freeze(value));
        return copy;
      }
      case 'newCollection': {
        const order = variable.order && freeze(variable.order);
        const entries = new Map<unknown, CollectionEntry>();
        const copy = copyOf(variable, { order, putIn: [...variable.putIn], entries });
        if (variable.own) Object.assign(copy, { own: freeze(variable.own) });
        for (const [id, { key, value }] of variable.entries) {
          entries.set(id, { key: freeze(key), value: freeze(value) });
        }
        return copy;
      }
      case 'tensor': {
        // The effects of requiresGrad_() and backward() on a tensor created on the path are rolled back with the
        // path.
        const changes = !variable.source && (variable.grad || isLeaf(variable));
        return changes ? copyOf(variable) : variable;
      }
      case 'dynamic':
        // The write is rolled back for another path.
        return variable.isWritten ? copyOf(variable) : variable;
      case 'union':
        return { ...variable, options: variable.options.map(freeze) };
      case 'closure': {
        const copy = copyOf(variable);
        const cells = variable.cells.map((cell) => freeze(cell)) as CellReference[];
        return Object.assign(copy, { cells, thisVariable: freeze(variable.thisVariable) });
      }
      case 'bound': {
        const { target, receiver, args, name } = variable;
        return Object.assign(copyOf(variable), {
          target: freeze(target),
          receiver: freeze(receiver),
          args: args.map(freeze),
          name: name && freeze(name),
        });
      }
      case 'iterator': {
        const copy = copyOf(variable, { passed: new Set(variable.passed) });
        return Object.assign(copy, { over: freeze(variable.over) });
      }
      case 'generator': {
        const { frame, state } = variable;
        if (state === 'running') return variable;
        const registers: typeof frame.registers = [];
        const copy = copyOf(variable, { frame: { ...frame, registers } });
        registers.push(...frame.registers.map((each) => each && freeze(each)));
        return copy;
      }
      case 'cell': {
        const copy = copyOf(variable);
        copy.content = freeze(variable.content);
        return copy;
      }
      default:
        return variable;
    }
  };
  return freeze;
}

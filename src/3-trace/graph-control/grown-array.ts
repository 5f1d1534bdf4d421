/** Arrays whose length only the program knows: those that grow and shrink in its loops. */

import type { UserPosition } from '../../../runtime/errors/position.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { resolved } from '../choices.ts';
import type { Tracer } from '../tracer.ts';
import type {
  GrownList,
  ListVariable,
  NewArrayVariable,
  ScalarVariable,
  Variable,
} from '../variable.ts';
import { emptyList, lengthScalar, listOfElements } from './list-elements.ts';

/** An array that has become a list of the program. */
export type GrownArray = NewArrayVariable & { readonly grown: GrownList };

export function isGrown(variable: Variable): variable is GrownArray {
  return variable.kind === 'newArray' && variable.grown !== undefined;
}

/** Thrown where the length of an array is found to differ from way to way: it is to become a list before. */
export class Grows extends Error {
  override readonly name = 'Grows';
  readonly array: NewArrayVariable;
  readonly sample: Variable;

  constructor(array: NewArrayVariable, sample: Variable) {
    super('the length of an array differs');
    this.array = array;
    this.sample = sample;
  }

  /** Where it can't be one. */
  asBreak(): GraphBreak {
    return new GraphBreak(
      'state-of-ways',
      'the length of an array that was not made by a literal changes in branches and loops',
    );
  }
}

/**
 * Follows ways; where they find that the length of an array differs, the array becomes a list before them,
 * and they are followed again. One of which a choice of lengths is known is a list from its birth on.
 */
export function withGrown<T>(t: Tracer, follow: () => T): T {
  for (;;) {
    try {
      return follow();
    } catch (error) {
      if (!(error instanceof Grows)) throw error;
      if (!t.control.listsGrow) {
        throw new GraphBreak(
          'state-of-ways',
          'the length of an array changes in a loop of the program',
        );
      }
      const { array, sample } = error;
      if (array.grown) throw error;
      if (array.elements.some((element) => resolved(element).kind === 'choice')) {
        if (t.control.depth > 0 || !array.born || array.born.grows) throw error;
        t.control.plans.growFrom(array.born);
      }
      grow(t, array, array.elements[0] ?? sample);
    }
  }
}

/**
 * From here on the length of the array is a value of the program. `sample` is what its elements are like:
 * one of them, or one that it will get.
 */
export function grow(t: Tracer, array: NewArrayVariable, sample: Variable | ListVariable): void {
  if (array.grown) return;
  t.control.plans.usesLists = true;
  const elements = [...array.elements];
  const like = sample.kind === 'list' ? sample : emptyList(t, sample, bornAt(array));
  setGrown(t, array, {
    items: listOfElements(t, elements, like),
    length: lengthScalar(t, elements.length),
  });
}

function bornAt({ born }: NewArrayVariable): UserPosition | undefined {
  const span = born?.code.spans[born.pc];
  return span && born.code.source.position(span.start);
}

export function setGrown(t: Tracer, array: NewArrayVariable, grown: GrownList): void {
  const { grown: before, elements } = array;
  t.journal.note(() => Object.assign(array, { grown: before, elements }));
  Object.assign(array, { grown, elements: notThere });
}

/** The content of an array that is made of such lists. */
export function grownArray(items: ListVariable, length: ScalarVariable): NewArrayVariable {
  return { kind: 'newArray', elements: notThere, grown: { items, length } };
}

/** Whoever wants to know the elements one by one can't be followed. */
const notThere: Variable[] = new Proxy([], {
  get() {
    throw unknownLength();
  },
  ownKeys() {
    throw unknownLength();
  },
});

export function unknownLength(): GraphBreak {
  return new GraphBreak(
    'list-of-turns',
    'an array that has grown in a loop of the program is used in a way that needs its elements one by one',
  );
}

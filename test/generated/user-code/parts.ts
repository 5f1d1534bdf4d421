import type fc from 'fast-check';

type Part = fc.Arbitrary<string>;

/** Source text with holes. */
export type Text = (strings: TemplateStringsArray, ...holes: readonly Part[]) => Part;

/**
 * What goes into the holes: expressions of a tensor of [2, 3], a number and a condition, a statement, a block, and a
 * variable of a tensor.
 */
export interface Parts {
  readonly e: Part;
  readonly n: Part;
  readonly c: Part;
  readonly s: Part;
  readonly b: Part;
  readonly local: Part;
}

export type Forms = (text: Text, parts: Parts) => Part[];

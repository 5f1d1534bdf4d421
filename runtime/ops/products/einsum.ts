/** The Einstein summation convention: sums of products over named dimensions. */

import { formatSpec } from '../../device/tensor-meta.ts';
import { ArgumentError, ShapeError } from '../../errors/errors.ts';
import { dtypes } from '../../spec/dtype.ts';
import { sizeOf } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { mul } from '../arithmetic/arithmetic.ts';
import { cast } from '../core/cast.ts';
import { anyHalf, roundedOnce } from '../core/rounded-once.ts';
import { permute, reshape } from '../movement/movement.ts';
import { diagonal } from '../movement/views.ts';
import { expectTensorList } from '../record/expect-tensors.ts';
import { sum } from '../reduce/reduce.ts';
import { matmul } from './matmul.ts';

/** A letter, or '…0', '…1', … for the dimensions of an ellipsis, counted from the last. */
type Label = string;

interface Term {
  readonly x: Tensor;
  /** One label per dimension. */
  readonly labels: readonly Label[];
}

function refuse(equation: string, given: string): ArgumentError {
  return new ArgumentError({
    what: 'einsum: the equation does not fit the tensors',
    given: `'${equation}', ${given}`,
    expected:
      "letters for each dimension, terms with ',' between them, and optionally '->' and the result",
    remedy: "for example einsum('bij,bjk->bik', [a, b]); '...' stands for the other dimensions",
  });
}

/** Returns the letters of a term, with null for its ellipsis. */
function lettersOf(equation: string, text: string): (string | null)[] {
  const letters: (string | null)[] = [];
  for (let i = 0; i < text.length; i++) {
    if (text.startsWith('...', i)) {
      letters.push(null);
      i += 2;
    } else if (/[a-zA-Z]/.test(text[i]!)) letters.push(text[i]!);
    else throw refuse(equation, `the character '${text[i]}'`);
  }
  if (letters.filter((letter) => letter === null).length > 1)
    throw refuse(equation, 'two ellipses');
  return letters;
}

const ellipsis = (count: number): Label[] =>
  Array.from({ length: count }, (_, i) => `…${count - 1 - i}`);

function termOf(equation: string, text: string, x: Tensor): Term {
  const letters = lettersOf(equation, text);
  const named = letters.filter((letter) => letter !== null).length;
  const rest = x.rank - named;
  if (rest < 0 || (rest > 0 && !letters.includes(null))) {
    throw refuse(equation, `'${text}' for ${formatSpec(x)}`);
  }
  return withoutRepeats({
    x,
    labels: letters.flatMap((letter) => (letter === null ? ellipsis(rest) : [letter])),
  });
}

/** Takes the diagonal of dimensions with the same letter. */
function withoutRepeats({ x, labels }: Term): Term {
  const second = labels.findIndex((label, i) => labels.indexOf(label) < i);
  if (second < 0) return { x, labels };
  const label = labels[second]!;
  const first = labels.indexOf(label);
  if (x.shape[first] !== x.shape[second]) throw unequal(label, x.shape[first]!, x.shape[second]!);
  const others = labels.filter((_, d) => d !== first && d !== second);
  return withoutRepeats({ x: diagonal(x, 0, first, second), labels: [...others, label] });
}

function unequal(label: Label, a: number, b: number): ShapeError {
  return new ShapeError({
    what: 'einsum: one letter for different sizes',
    given: `'${label}' for ${a} and ${b}`,
    expected: 'equal sizes (or 1, in different tensors)',
    remedy: 'check the order of the letters',
  });
}

/** Returns the letters that occur once, in order, after the ellipsis. */
function impliedResult(terms: readonly Term[], texts: readonly string[]): Label[] {
  const letters = texts.join('').replaceAll('.', '').split('');
  const single = letters
    .filter((each) => letters.indexOf(each) === letters.lastIndexOf(each))
    .sort();
  return [...longestEllipsis(terms), ...single];
}

function longestEllipsis(terms: readonly Term[]): Label[] {
  const counts = terms.map(({ labels }) => labels.filter((each) => each.startsWith('…')).length);
  return ellipsis(Math.max(0, ...counts));
}

function resultLabels(equation: string, terms: readonly Term[], text: string): Label[] {
  const labels = lettersOf(equation, text).flatMap((letter) =>
    letter === null ? longestEllipsis(terms) : [letter],
  );
  const known = new Set(terms.flatMap((term) => term.labels));
  const unknown = labels.find((label, i) => !known.has(label) || labels.indexOf(label) !== i);
  if (unknown === undefined) return labels;
  throw refuse(equation, `'${unknown}' in the result, unknown or twice`);
}

/** Sums over the dimensions whose label is not needed. */
function summed({ x, labels }: Term, needed: ReadonlySet<Label>): Term {
  const dims = labels.map((_, d) => d).filter((d) => !needed.has(labels[d]!));
  if (dims.length === 0) return { x, labels };
  return { x: sum(x, dims), labels: labels.filter((label) => needed.has(label)) };
}

/** Removes a shared dimension that has size 1 in one of the two terms and broadcasts. */
function withoutBroadcast(own: Term, other: Term): Term {
  const sizeIn = ({ x, labels }: Term, label: Label) => x.shape[labels.indexOf(label)];
  const spread = own.labels.filter((label) => {
    const [size, partner] = [sizeIn(own, label), sizeIn(other, label)];
    if (partner === undefined || size === partner || partner === 1) return false;
    if (size !== 1) throw unequal(label, size!, partner);
    return true;
  });
  return summed(own, new Set(own.labels.filter((label) => !spread.includes(label))));
}

/** The product of two terms, summed over labels that neither other terms nor the result need. */
function contracted(a: Term, b: Term, needed: ReadonlySet<Label>): Term {
  const [left, right] = [withoutBroadcast(a, b), withoutBroadcast(b, a)];
  const reduced = summed(left, new Set([...needed, ...right.labels]));
  const other = summed(right, new Set([...needed, ...left.labels]));
  const shared = reduced.labels.filter((label) => other.labels.includes(label));
  const batch = shared.filter((label) => needed.has(label));
  const inner = shared.filter((label) => !needed.has(label));
  const freeA = reduced.labels.filter((label) => !shared.includes(label));
  const freeB = other.labels.filter((label) => !shared.includes(label));
  const labels = [...batch, ...freeA, ...freeB];
  const sizeOfLabel = (label: Label) =>
    reduced.labels.includes(label)
      ? reduced.x.shape[reduced.labels.indexOf(label)]!
      : other.x.shape[other.labels.indexOf(label)]!;
  const size = (list: readonly Label[]) => sizeOf(list.map(sizeOfLabel));
  const arranged = (term: Term, order: readonly Label[], shape: readonly number[]) =>
    reshape(
      permute(
        term.x,
        order.map((label) => term.labels.indexOf(label)),
      ),
      shape,
    );
  const shape = labels.map(sizeOfLabel);
  if (!dtypes[reduced.x.dtype].floating || !dtypes[other.x.dtype].floating) {
    // Matrix products require floating-point numbers: integers are multiplied elementwise and summed.
    const first = arranged(
      reduced,
      [...batch, ...freeA, ...inner],
      [size(batch), size(freeA), 1, size(inner)],
    );
    const second = arranged(
      other,
      [...batch, ...freeB, ...inner],
      [size(batch), 1, size(freeB), size(inner)],
    );
    const products = mul(first, second);
    // Like a matrix product, the sum has the dtype of the products, except for counts of booleans.
    const isCount = products.dtype === 'bool' && inner.length > 0;
    const total = cast(sum(products, -1), isCount ? 'int32' : products.dtype);
    return { x: reshape(total, shape), labels };
  }
  const first = arranged(
    reduced,
    [...batch, ...freeA, ...inner],
    [size(batch), size(freeA), size(inner)],
  );
  const second = arranged(
    other,
    [...batch, ...inner, ...freeB],
    [size(batch), size(inner), size(freeB)],
  );
  return { x: reshape(matmul(first, second), shape), labels };
}

/**
 * Sums products of the tensors' elements. Letters name dimensions: equal letters are matched, and letters not in the
 * result are summed over. Without '->', the result has the letters that occur once, in alphabetical order. '...'
 * represents any number of dimensions, which broadcast.
 */
export function einsum(equation: string, tensors: readonly Tensor[]): Tensor {
  expectTensorList('einsum', tensors);
  if (typeof equation !== 'string') throw refuse(String(equation), 'which is not a string');
  const [inputs = '', output, ...more] = equation.replaceAll(' ', '').split('->');
  const texts = inputs.split(',');
  if (more.length > 0 || texts.length !== tensors.length) {
    throw refuse(equation, `${tensors.length} tensor(s)`);
  }
  // Two terms are a single product, whose half-precision result is rounded once anyway.
  if (tensors.length > 2 && anyHalf(...tensors)) {
    return roundedOnce(tensors, (...converted) => einsum(equation, converted));
  }
  return tidy(() => {
    const terms = texts.map((text, i) => termOf(equation, text, tensors[i]!));
    const result =
      output === undefined ? impliedResult(terms, texts) : resultLabels(equation, terms, output);
    const [first, ...rest] = terms as [Term, ...Term[]];
    const neededAfter = (i: number) =>
      new Set([...result, ...rest.slice(i).flatMap((term) => term.labels)]);
    const joined = rest.reduce(
      (result, term, i) => contracted(result, term, neededAfter(i + 1)),
      first,
    );
    const total = summed(joined, new Set(result));
    // Labels of size 1 that broadcasting removed from one term are in the other.
    return permute(
      total.x,
      result.map((label) => total.labels.indexOf(label)),
    );
  });
}

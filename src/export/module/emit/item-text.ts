import type { Num, RunNumber } from '../recording/run-numbers.ts';
import type { Item } from './loops.ts';

/** How a number of the run is converted to the word that a kernel reads. */
const forms: { readonly [F in RunNumber['form']]: (name: string) => string } = {
  number: (name) => name,
  f32: (name) => `wordOf(${name})`,
  i32: (name) => `integer(${name})`,
  low: (name) => `doubleWord(${name},0)`,
  high: (name) => `doubleWord(${name},1)`,
};

/** A number as JavaScript; `growth`: the amount added to it by the surrounding loops. */
function numberText(value: Num, growth: string): string {
  if (typeof value === 'number') {
    if (growth === '') return Object.is(value, -0) ? '-0' : String(value);
    return value === 0 && growth[0] === '+' ? growth.slice(1) : `${value}${growth}`;
  }
  const { id, form, plus } = value;
  const text = forms[form](`s${id}`);
  return `${text}${plus > 0 ? `+${plus}` : plus < 0 ? plus : ''}${growth}`;
}

const variables = ['a', 'b', 'c', 'd', 'e', 'f'];

/** Lines of JavaScript for each item. */
export function textOf(items: readonly Item[]): string[] {
  return items.map((item) =>
    itemText(
      item,
      item.numbers,
      item.numbers.map(() => ''),
      0,
    ),
  );
}

function itemText(
  item: Item,
  numbers: readonly Num[],
  growth: readonly string[],
  depth: number,
): string {
  if (item.kind === 'statement') {
    let k = 0;
    return `${item.text.replaceAll('#', () => numberText(numbers[k]!, growth[k++]!))};`;
  }
  const name = variables[depth]!;
  const steps = item.steps.map((step, k) => {
    if (step === 0) return growth[k]!;
    if (step < 0) return `${growth[k]}-${name}*${-step}`;
    return `${growth[k]}+${step === 1 ? name : `${name}*${step}`}`;
  });
  let at = 0;
  const body = item.body.map((each) => {
    const end = at + each.numbers.length;
    const text = itemText(each, numbers.slice(at, end), steps.slice(at, end), depth + 1);
    at = end;
    return text;
  });
  return `for(let ${name}=0;${name}<${item.count};${name}++){${body.join('')}}`;
}

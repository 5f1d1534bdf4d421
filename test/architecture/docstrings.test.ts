import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');

const sources = ['runtime', 'src'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name)),
);

/** The first words of every doc comment in a text. */
function openings(text: string): string[] {
  return [...text.matchAll(/\/\*\*[\s*]*([^\n]*)/g)].map(([, first]) => first!);
}

it('finds doc comments of one line and of several', () => {
  expect(openings('/** One. */\n/**\n * Two\n * lines.\n */')).toEqual(['One. */', 'Two']);
});

// On hover a comment stands alone: "What a plan keeps", "Of each result" and "The same with stats" have to be decoded backwards.
it('doc comments open with a noun phrase or a verb', () => {
  const riddle = /^(What|Whatever|Who|Whose|Which|Of|Per|The same)\b/;
  const found = sources.flatMap((file) =>
    openings(readFileSync(join(root, file), 'utf8'))
      .filter((first) => riddle.test(first))
      .map((first) => `${file}: ${first}`),
  );
  expect(sources.length).toBeGreaterThan(100);
  expect(found).toEqual([]);
});

// Each has a plain equivalent: again, represents, continues, returns; or the name of the pass, caller or kernel.
it('comments name their actors, and use plain verbs', () => {
  const unclear = /\b(anew|stands? for|goes on|gives back|nobody|somebody|whoever)\b/;
  const found = sources.flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .filter((line) => /^\s*(\/\/|\/?\*)/.test(line) && unclear.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  );
  expect(found).toEqual([]);
});

// The field's terms instead: live, continues, distinguishes, rollBack, rematerialize, growable, result or reply.
it('names are made of verbs and terms that the field uses', () => {
  const unclear =
    /nobody|somebody|whoever|anew|goesOn|givesBack|standsFor|tells?Apart|putDown|takeBack(?!w)|\bredo|computeAgain|makeAgain|mayBeKnown|\b#?alive\b|mostAlive|grown|\wAnswer|answer(?!s?\b)/i;
  const found = sources.flatMap((file) => {
    const code = readFileSync(join(root, file), 'utf8')
      .replace(/\/\*.*?\*\/|\/\/.*?$|'(?:\\.|[^'\\\n])*'/gms, '')
      .matchAll(/#?\b[a-z]\w*/gi);
    const names = new Set(Array.from(code, ([name]) => name));
    return [...names].filter((name) => unclear.test(name)).map((name) => `${file}: ${name}`);
  });
  expect(found).toEqual([]);
});

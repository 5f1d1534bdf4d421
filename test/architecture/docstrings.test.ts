import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import * as library from '../../src/index.ts';
import { data, memory, nn, optim, profiler } from '../../src/index.ts';

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
  const unclear =
    /\b(anew|stands? for|goes on|gives back|nobody|somebody|whoever|any more|as found|at hand|asked for|turns? out|as far as)\b/;
  const found = sources.flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .filter((line) => /^\s*(\/\/|\/?\*)/.test(line) && unclear.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  );
  expect(found).toEqual([]);
});

// The field's terms instead: live, continues, distinguishes, rollBack, rematerialize, growable, requested, donate,
// release, returned, result or reply; edges, sources and contexts.
it('names are made of verbs and terms that the field uses', () => {
  const unclear =
    /nobody|somebody|whoever|anew|goesOn|givesBack|standsFor|tells?Apart|putDown|takeBack(?!w)|\bredo|computeAgain|makeAgain|mayBeKnown|\b#?alive\b|mostAlive|grown|wanted|surrender|giveBack|goesTo|handedOut|\wAnswer|answer(?!s?\b)|^#?partsOf$|requestedPlace|nameOfPlace|analysisPlace/i;
  const found = sources.flatMap((file) => {
    const code = readFileSync(join(root, file), 'utf8')
      .replace(/\/\*.*?\*\/|\/\/.*?$|'(?:\\.|[^'\\\n])*'/gms, '')
      .matchAll(/#?\b[a-z]\w*/gi);
    const names = new Set(Array.from(code, ([name]) => name));
    return [...names].filter((name) => unclear.test(name)).map((name) => `${file}: ${name}`);
  });
  expect(found).toEqual([]);
});

// Editors show it on hover.
it('every exported function and class has a doc comment', () => {
  const spaces = [library, nn, nn.init, nn.utils, optim, data, memory, profiler];
  const names = new Set(spaces.flatMap((space) => Object.keys(space)));
  // Kernels and models of builtins have the names of ops.
  const inner =
    /^(runtime\/(device\/[cg]pu|numerics|options)|src\/(3-trace|plugin|process-cache))\//;
  const declaration =
    /(\*\/\n)?(?:\/\/[^\n]*\n)*^export (?:abstract |async )?(?:function|class|const) (\w+)/gm;
  const seen = new Set<string>();
  const without = sources
    .filter((file) => !inner.test(file))
    .flatMap((file) => {
      const documented = new Set<string>();
      return [...readFileSync(join(root, file), 'utf8').matchAll(declaration)].flatMap(
        ([, comment, name]) => {
          if (!names.has(name!)) return [];
          seen.add(name!);
          // The first of several overloads has the comment.
          if (comment) documented.add(name!);
          return documented.has(name!) ? [] : [`${file}: ${name}`];
        },
      );
    });
  expect(without).toEqual([]);
  expect(seen.size).toBeGreaterThan(600);
});

// A participle or adverb alone says nothing about a value: FinishedRun, PendingReadback or MatrixView instead.
it('types are named by nouns', () => {
  const declaration = /^(?:export )?(?:abstract )?(?:class|interface|type) (\w+)/gm;
  const unclear =
    /^(?:Advancing|Ahead|Became|Besides|Both|Different|Distant|Elsewhere|Existing|Found|Given|Ground|How|Inside|Itself|Laid|Left|Listed|Living|Located|Look|Lying|Made|Met|Moved|Moving|NoEntry|Noted|Playing|Ran|Rare|Reached|Rival|Searched|Seen|Several|Shown|Stretch|Surroundings|Unfit|Unnamed|Waiting|Walked|Wanted|Weighed|Wide|Written)$/;
  const found = sources.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(declaration)]
      .filter(([, name]) => unclear.test(name!))
      .map(([, name]) => `${file}: ${name}`),
  );
  expect(found).toEqual([]);
});

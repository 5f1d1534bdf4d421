import { hasHelpers } from './cases/collections.ts';
import { cases as newer } from './cases/newer.ts';

/** The cases of newer engines all break, where the engine has what they use. */
const newerReasons: Readonly<Record<string, readonly string[]>> = {
  raw: ['native-call'],
  resolvers: ['native-call'],
  tried: ['native-call'],
  isError: ['native-call'],
  escaped: ['native-call'],
  halves: ['constructor'],
  transferred: ['getter', 'native-call', 'unsupported-iterable'],
  stack: ['constructor', 'getter', 'native-call'],
  suppressed: ['constructor'],
  // With the source of the value, or without.
  ...('rawJSON' in JSON && { revived: ['native-call'] }),
};

/** Cases that break the graph, and the reasons of their breaks. */
export const breaking: Readonly<Record<string, readonly string[]>> = {
  'language/privateInstance': ['constructor'],
  'language/privateDerived': ['constructor'],
  'language/privateMissing': ['throw'],
  'language/arrayProps': ['object-write'],
  'language/functionProps': ['object-write'],
  'language/symbolFor': ['throw'],
  'arrays/mapNotCallable': ['native-call'],
  'arrays/arrayLikeText': ['native-call'],
  'arrays/concatSpreadable': ['native-call'],
  'arrays/sortLong': ['native-call'],
  'strings/newString': ['constructor', 'native-call'],
  'numbers/boxedObjects': ['constructor', 'native-call'],
  'objects/setPrototypeOfOuter': ['native-call'],
  'objects/freezeOuter': ['object-write'],
  'objects/definePropertyOuter': ['native-call'],
  'json/stringifyCycle': ['native-call'],
  'typed/text': ['constructor', 'native-call'],
  'functions/functionText': ['native-call'],
  'functions/instanceofFunction': ['unsupported-value'],
  'functions/newOuterFunctionThrows': ['throw'],
  'functions/newOuterFunctionTarget': ['constructor'],
  'functions/newFunction': ['unsupported-value'],
  'functions/proxy': ['constructor', 'getter'],
  ...(hasHelpers && {
    'collections/iteratorThrows': ['native-call'],
    'collections/iteratorOfText': ['native-call'],
    'collections/iteratorNone': ['native-call'],
    'collections/iteratorOfNoCount': ['native-call'],
    'collections/iteratorOfNoFunction': ['native-call'],
    'collections/iteratorReturned': ['native-call'],
    'collections/iteratorClosedEarly': ['native-call'],
    'collections/iteratorBreaksInside': ['native-call'],
  }),
  ...Object.fromEntries(
    Object.entries(newerReasons)
      .filter(([name]) => name in newer)
      .map(([name, reasons]) => [`newer/${name}`, reasons]),
  ),
};

/** The package in Node: all that a page has, and a cache in files (`TOSTATIC_CACHE`). */

import './provide-cache.ts';

export * from '../index.ts';

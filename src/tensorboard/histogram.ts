import type { HistogramProto } from './schema.ts';

const bucketCount = 30;

/** Counts numbers in buckets of equal width from the smallest to the largest; non-finite numbers are omitted. */
export function histogramOf(values: ArrayLike<number>): HistogramProto {
  const finite = Array.from(values).filter(Number.isFinite);
  let [min, max, sum, sumSquares] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, 0];
  for (const value of finite) {
    min = Math.min(min, value);
    max = Math.max(max, value);
    sum += value;
    sumSquares += value * value;
  }
  if (finite.length === 0) [min, max] = [0, 0];
  const width = (max - min) / bucketCount;
  const bucket = Array<number>(bucketCount).fill(0);
  for (const value of finite) {
    const at = width === 0 ? 0 : Math.floor((value - min) / width);
    bucket[Math.min(at, bucketCount - 1)]! += 1;
  }
  const bucketLimit = bucket.map((_, i) => (i === bucketCount - 1 ? max : min + width * (i + 1)));
  return { min, max, num: finite.length, sum, sumSquares, bucketLimit, bucket };
}

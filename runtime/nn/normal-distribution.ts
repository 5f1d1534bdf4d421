/** The standard normal distribution, in double precision. */

/** The cumulative distribution at x: the series of the error function near 0, its continued fraction elsewhere. */
export function normalShare(x: number): number {
  if (x > 0) return 1 - normalShare(-x);
  if (x < -38) return 0;
  const density = Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
  if (x > -3) {
    // ½ + φ(x)(x + x³/3 + x⁵/15 + …)
    let [term, total] = [x, x];
    for (let k = 3; Math.abs(term) > 1e-17; k += 2) {
      term *= (x * x) / k;
      total += term;
    }
    return 0.5 + density * total;
  }
  // φ(x) / (|x| + 1/(|x| + 2/(|x| + 3/…)))
  let fraction = -x;
  for (let k = 60; k > 0; k--) fraction = -x + k / fraction;
  return density / fraction;
}

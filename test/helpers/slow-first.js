// Of files whose time nobody has measured yet jest runs the largest first. What takes long here are
// those that start programs or walk every path; at the end one of them would keep one worker alone.
const { default: Sequencer } = require('@jest/test-sequencer');

const SLOW = /\.long\.test|\/test\/(e2e\/|conformance|assignments\/rollouts|embedded-postgres\/)/;

/** Alone they take as long as a quarter of all. */
const SLOWEST = /docs[\w-]*\.curl|e2e\/image|\/conformance\.long/;

const rank = ({ path }) => (SLOWEST.test(path) ? 0 : SLOW.test(path) ? 1 : 2);

module.exports = class SlowFirst extends Sequencer {
  sort(tests) {
    return [...super.sort(tests)].sort((a, b) => rank(a) - rank(b));
  }
};

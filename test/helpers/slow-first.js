// Of files whose time nobody has measured yet jest runs the largest first. What takes long here are
// those that start programs or walk every path; at the end one of them would keep one worker alone.
const { default: Sequencer } = require('@jest/test-sequencer');

const SLOW =
  /\.long\.test|\/test\/(e2e\/|conformance|contract\.|assignments\/rollouts|embedded-postgres\/)/;

module.exports = class SlowFirst extends Sequencer {
  sort(tests) {
    const isSlow = ({ path }) => SLOW.test(path);
    const sorted = super.sort(tests);
    return [...sorted.filter(isSlow), ...sorted.filter((test) => !isSlow(test))];
  }
};

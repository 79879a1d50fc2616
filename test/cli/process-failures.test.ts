import { join } from 'node:path';
import { killChildren, startTypeScript } from '../helpers/child-process.js';

afterEach(killChildren);

it('an unhandled rejection is logged and ends nothing; an uncaught exception is logged and ends the process', async () => {
  const child = startTypeScript(join(__dirname, 'process-failures-child.ts'), []);
  expect(await child.ended).toBe(1);
  const [rejected, goesOn, thrown] = child.lines;
  expect(JSON.parse(rejected ?? '')).toMatchObject({
    level: 50,
    msg: 'unhandled rejection of a promise: please report it',
    err: { message: 'nobody awaits this' },
  });
  expect(goesOn).toBe('serving on');
  expect(JSON.parse(thrown ?? '')).toMatchObject({
    level: 60,
    msg: 'uncaught exception: the process ends',
    err: { message: 'nobody catches this' },
  });
});

import { AUTHENTICATE } from '../../../src/db/device-path/authenticate-statement.js';
import { EXCHANGE } from '../../../src/db/device-path/report-exchange-sql.js';
import { TOKEN_UPDATE } from '../../../src/db/device-path/token-update.js';
import { USER_TOKEN_UPDATE } from '../../../src/db/device-path/users.js';

// Built from parts: the snapshot shows each as PostgreSQL receives it.
describe('the expanded statements of the device path', () => {
  it.each([
    AUTHENTICATE,
    EXCHANGE.device.many,
    EXCHANGE.device.one,
    EXCHANGE.user.many,
    EXCHANGE.user.one,
    TOKEN_UPDATE,
    USER_TOKEN_UPDATE,
  ])('$name is the text in the snapshot', ({ text }) => {
    expect(`\n${text.trim()}\n`).toMatchSnapshot();
  });

  it('every statement has a name of its own', () => {
    const { device, user } = EXCHANGE;
    const statements = [AUTHENTICATE, TOKEN_UPDATE, USER_TOKEN_UPDATE];
    const all = [...statements, device.many, device.one, user.many, user.one];
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
  });
});

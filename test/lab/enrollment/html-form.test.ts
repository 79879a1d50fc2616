import { readForm } from '../../../src/lab/enrollment/html-form.js';

describe('the form of a sign-in page', () => {
  it('is undefined on a page without a form', () => {
    expect(readForm('<p>Nothing here, not even a &lt;form&gt;</p>')).toBeUndefined();
    expect(readForm('<form action="/x"> that never ends')).toBeUndefined();
  });

  it('is read with its fields, however they are quoted', () => {
    const page = `<!doctype html><FORM method=post action="/sign-in?a=1&amp;b=2">
      <input type="hidden" name="csrf" value="&quot;&#x41;&#66;&unknown;">
      <input name='account' value='ada@example.com'><input type=password name=password>
      <input type="submit" value="Sign in"><button name="how" value="now">Go</button></FORM>
      <form action="/other"><input name="other"></form>`;
    expect(readForm(page)).toEqual({
      method: 'POST',
      action: '/sign-in?a=1&b=2',
      inputs: [
        { name: 'csrf', type: 'hidden', value: '"AB&unknown;' },
        { name: 'account', type: 'text', value: 'ada@example.com' },
        { name: 'password', type: 'password', value: '' },
        { name: 'how', type: 'text', value: 'now' },
      ],
    });
  });

  it('is sent by GET to the page itself unless it says otherwise', () => {
    expect(readForm('<form><input name="q"></form>')).toMatchObject({ method: 'GET', action: '' });
  });
});

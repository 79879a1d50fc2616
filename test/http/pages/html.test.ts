import { Html, html } from '../../../src/http/pages/html.js';

describe('html', () => {
  it('escapes what is put into it', () => {
    const hostile = `"><script>alert('&amp;')</script>`;
    expect(html`<a href="${hostile}">${hostile}</a>`.text).toBe(
      '<a href="&quot;&gt;&lt;script&gt;alert(&#39;&amp;amp;&#39;)&lt;/script&gt;">' +
        '&quot;&gt;&lt;script&gt;alert(&#39;&amp;amp;&#39;)&lt;/script&gt;</a>',
    );
  });

  it('inserts HTML as it is, also in lists, and nothing for undefined', () => {
    const items = [html`<li>${1}</li>`, html`<li>${'<2>'}</li>`];
    expect(html`<ul>${items}${undefined}${new Html('<!-- -->')}</ul>`.text).toBe(
      '<ul><li>1</li><li>&lt;2&gt;</li><!-- --></ul>',
    );
  });
});

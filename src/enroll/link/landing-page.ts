import { type Html, html } from '../../http/pages/html.js';

/** What the page is made for. */
export interface LandingPage {
  organization: string;
  /** Addresses of what devices fetch, the link's token in them. */
  profileUrl: string;
  overTheAirUrl: string;
  /** undefined: devices trust this server already. */
  trustUrl: string | undefined;
  /** People may sign in with their work account instead. */
  hasAccounts: boolean;
}

const INSTRUCTIONS = html`<details open>
<summary>iPhone and iPad</summary>
<ol>
<li>Open Settings and tap Profile Downloaded near the top, or go to General &gt; VPN &amp; Device
Management.</li>
<li>Tap the profile, then Install, and enter your passcode.</li>
<li>Tap Install and Trust when you are asked about remote management.</li>
</ol>
</details>
<details>
<summary>Mac</summary>
<ol>
<li>Open the downloaded file, whose name ends in .mobileconfig.</li>
<li>In System Settings go to General &gt; Device Management; before macOS 15 to Privacy &amp;
Security &gt; Profiles.</li>
<li>Double-click the profile, click Install or Enroll, and enter the password of an
administrator of the Mac.</li>
</ol>
</details>
<details>
<summary>Apple Vision Pro</summary>
<ol>
<li>Open Settings and go to General &gt; VPN &amp; Device Management.</li>
<li>Choose the profile, then Install, and enter your passcode.</li>
</ol>
</details>
<details>
<summary>Apple TV</summary>
<ol>
<li>On a Mac, get the enrollment profile from this page.</li>
<li>Add it to the Apple TV with Apple Configurator.</li>
</ol>
</details>`;

const ACCOUNT = html`<section>
<h2>Or sign in with your work account</h2>
<p>On iPhone, iPad and Apple Vision Pro: Settings &gt; General &gt; VPN &amp; Device Management &gt;
Sign In to Work or School Account. On a Mac: System Settings &gt; General &gt; Device
Management &gt; Sign In.</p>
</section>`;

/** Instructions for a person who enrolls a device; the page has no scripts. */
export function landingPage(page: LandingPage): Html {
  const { organization, trustUrl, hasAccounts } = page;
  return html`<h1>Enroll your device with ${organization}</h1>
<p>Once it is enrolled, ${organization} manages this device: settings and apps are installed for
you, and its model, system version and apps are known to those who manage it. They can lock or
erase it. They cannot read your messages, mail, photos or browsing history.</p>
${trustUrl === undefined ? undefined : trustStep(trustUrl)}
${enrollStep(page)}
${hasAccounts ? ACCOUNT : undefined}
<p class="quiet">You can end this at any time unless your organization owns the device: remove the
profile where you installed it.</p>`;
}

/** The page of a refused enrollment; `reason` begins in lower case. */
export function refusalPage(organization: string, reason: string): Html {
  const sentence = `${reason.slice(0, 1).toUpperCase()}${reason.slice(1)}.`;
  return html`<h1>Your device cannot be enrolled here now</h1>
<p>${sentence}</p>
<p>Ask the person at ${organization} who sent you here for a new link.</p>`;
}

function trustStep(trustUrl: string): Html {
  return html`<section>
<h2>1. Trust this server</h2>
<p>Your device does not know the certificates of this server yet. Install them first.</p>
<a class="button" href="${trustUrl}">Get the trust profile</a>
<p>Then install it: on iPhone, iPad and Apple Vision Pro in Settings, on a Mac in System
Settings, as described below.</p>
<p>On iPhone, iPad and Apple Vision Pro one thing more: Settings &gt; General &gt; About &gt;
Certificate Trust Settings, and turn on the certificates of this server.</p>
</section>`;
}

function enrollStep(page: LandingPage): Html {
  const heading = page.trustUrl === undefined ? 'Enroll' : '2. Enroll';
  return html`<section>
<h2>${heading}</h2>
<a class="button" href="${page.profileUrl}">Get the enrollment profile</a>
<p>On iPhone, iPad and Apple Vision Pro open this page in Safari: other apps cannot install
profiles. When it asks whether to download a configuration profile, tap Allow.</p>
${INSTRUCTIONS}
<p class="quiet">On iPhone and iPad there is another way, in which the device shows by its own
certificate which one it is: <a href="${page.overTheAirUrl}">enroll over the air</a>.</p>
</section>`;
}

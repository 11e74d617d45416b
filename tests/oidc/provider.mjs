// An OpenID Connect provider on 127.0.0.1: node provider.mjs LIBRARY PORT REDIRECT_URI CLIENT_ID CLIENT_SECRET PEOPLE
// PEOPLE: claims by subject, as JSON. A person signs in with the subject and any password.
const [library, port, redirectUri, clientId, clientSecret, people] = process.argv.slice(2);
const { default: Provider } = await import(library);
const known = JSON.parse(people);

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: [redirectUri] }],
  claims: { openid: ["sub"], profile: ["preferred_username", "groups"], email: ["email", "email_verified"] },
  cookies: { keys: ["only on this machine"] },
  pkce: { required: () => true },
  findAccount: (_, subject) => ({ accountId: subject, claims: () => ({ sub: subject, ...known[subject] }) }),
});

provider.listen(Number(port), "127.0.0.1");

// What each check came to, as a line of JSON: passed, refused by the server in words, or failed.
export async function check(name, act) {
  try {
    await act();
    console.log(JSON.stringify({ check: name, outcome: "passed", why: "" }));
  } catch (error) {
    const refused = [error.name, error.code, error.Code].includes("NotImplemented");
    console.log(JSON.stringify({ check: name, outcome: refused ? "refused" : "failed", why: `${error.name}: ${error.message}` }));
  }
}

export function equal(found, expected) {
  const [one, two] = [found, expected].map((value) => JSON.stringify(value));
  if (one !== two) throw new Error(`${one} is not ${two}`);
}

export async function fetched(url, options, expected = 200) {
  const answer = await fetch(url, options);
  const text = await answer.text();
  if (answer.status !== expected) throw new Error(`${answer.status}: ${text}`);
  return text;
}

// Questions as people write them: the search takes each word for the beginning of one, and "a" begins every page.
// Words that say nothing are left out, unless there are no others; "message" finds what this site calls a record.
const FILLERS = new Set(
  "a an and any are as at be by can do does for from have how i if in into is it its me my no of on or our so that the them there this to use was we what when where which why will with you your".split(" "),
)
const ALSO = { message: "record", messages: "records", event: "record", events: "records" }
const QUERY = 2 // the kind of what the page tells its search worker

function searched(query) {
  const words = query.trim().split(/\s+/)
  const telling = words.filter((word) => !FILLERS.has(word.toLowerCase()))
  if (/["+~^:*]/.test(query) || telling.length === 0) return query
  return telling.flatMap((word) => [word, ALSO[word.toLowerCase()] ?? []].flat()).join(" ")
}

const post = Worker.prototype.postMessage
Worker.prototype.postMessage = function (message, ...rest) {
  const isQuery = message?.type === QUERY && typeof message.data === "string"
  return post.call(this, isQuery ? { ...message, data: searched(message.data) } : message, ...rest)
}
